/** The thread beside the one that serves: checks one configuration text and hands over what came of it, in parcels. */
import { constants, setPriority } from "node:os"
import { parentPort, workerData } from "node:worker_threads"
import type { Asked, Told } from "./aside.ts"
import { type Checked, check } from "./check.ts"
import { packOutline } from "./packed-outline.ts"
import { pack } from "./parcels.ts"

const { source, port } = workerData as Asked

// Whoever waits for an answer goes first. Elsewhere than on Linux this would be the priority of the whole process.
if (process.platform === "linux") setPriority(constants.priority.PRIORITY_LOW)

/** The positions are made anew from the text, which both sides have. */
const told = ({ positions, ...rest }: Checked): Told => ({
  ...rest,
  outline: positions && packOutline(positions.outline)
})

pack(told(check(source)), (parcel) => port.postMessage(parcel))
parentPort?.postMessage("checked")
