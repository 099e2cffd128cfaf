/**
 * What a connection policy is written with beside what policies are: its own contract, and what connections are opened by. No part
 * of `headgate/policy`: a program brings policies of its own, not connections.
 */
export { connectionPolicy } from "../pipeline/connection-policy.ts"
export { listenerPolicy } from "../pipeline/listener-policy.ts"
export { Proxies } from "../pipeline/proxies.ts"
export { Files } from "../services/files.ts"
export { Log } from "../services/log.ts"
export { type FollowedTls, probesOf, type UpstreamTls } from "../services/upstreams.ts"
export { followed } from "../tls/followed.ts"
export { fileFields, type Material, type Places, readMaterial } from "../tls/material.ts"
