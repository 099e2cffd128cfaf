#!/usr/bin/env node
// Starts the command-line tool on a runtime that can run it.
import { launch } from "./launch.mjs"

await launch("headgatectl")
