#!/usr/bin/env node
// Starts the proxy on a runtime that can run it. Only syntax that old runtimes parse: they must get as far as the message.
import { launch } from "./launch.mjs"

await launch("headgate")
