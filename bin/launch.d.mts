/** What the proxy's runtime is started with. */
export declare const runtimeFlags: ReadonlyArray<string>
export declare const launch: (program: "headgate" | "headgatectl") => Promise<void>
