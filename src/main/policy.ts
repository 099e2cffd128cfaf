/**
 * Package export `headgate/policy`: what policies are written with, and the proxy's own policies. One is defined with `policy`, placed among
 * the proxy's own with `registry`, and run with `makeHeadgate` of `headgate`.
 */
export { policies } from "../../stages/registry.ts"
export * from "../policy/policy.ts"
