/**
 * The sites at which policies are attached, as data: what a policy sees there, and what it may make of it. A policy is written
 * against what all of its sites show it, so that one for connections works wherever there is a connection, and one for requests
 * cannot be attached where there is none.
 */

import type { PolicyPlace } from "../../spec/standalone/policies.ts"
import type { Phase as ExpressionPhase } from "../cel/phases.ts"
import type { AnySlot, Verdict } from "./stage.ts"
import type { ConnectionView, View } from "./view.ts"

interface SiteForm {
  /** What nodes see: a connection alone, or a request that came over one. */
  readonly sees: keyof Views<never, never>
  /** What expressions may read there. */
  readonly expressions: ExpressionPhase
  /** Where a configuration file has its policies. */
  readonly place: PolicyPlace
  /** Whether a node may answer. Where it may not it lets pass or fails, and a failure ends the connection. */
  readonly answers: boolean
}

/** In the order in which a request comes by them. Each site is also the phase in which the first nodes of its policies run. */
export const sites = {
  /** The connection of a client, once it stands and before anything of it is read. */
  connection: { sees: "connection", expressions: "network", place: "frontend", answers: false },
  /** A listener. */
  gateway: { sees: "request", expressions: "gateway", place: "gateway", answers: true },
  route: { sees: "request", expressions: "route", place: "route", answers: true },
  backend: { sees: "request", expressions: "backend", place: "backend", answers: true }
} as const satisfies Readonly<Record<string, SiteForm>>

/** One of `sites`. */
export type Site = keyof typeof sites

/** What nodes see, by what `sites` says. Whoever sees a request sees its connection, too. */
interface Views<Reads extends AnySlot, Writes extends AnySlot> {
  readonly connection: ConnectionView
  readonly request: View<Reads, Writes>
}

/** What a policy sees that may be attached at each of these sites: what all of them show. */
export type ViewAt<At extends Site, Reads extends AnySlot, Writes extends AnySlot> = [
  (typeof sites)[At]["sees"]
] extends ["request"]
  ? View<Reads, Writes>
  : ConnectionView

/** What a node may say that may be attached at each of these sites. */
export type VerdictAt<At extends Site> = false extends (typeof sites)[At]["answers"] ? undefined : Verdict

/** The sites at which there is a request. */
export type RequestSite = {
  [S in Site]: (typeof sites)[S]["sees"] extends "request" ? S : never
}[Site]

export const siteNames = Object.keys(sites) as ReadonlyArray<Site>

const hasRequest = (site: Site): site is RequestSite => sites[site].sees === "request"
export const requestSites: ReadonlyArray<RequestSite> = siteNames.filter(hasRequest)
