/** Tool names that Bedrock accepts, made from those that the client uses, and the way back. One instance lives as long as one request. */
import { createHash } from "node:crypto"

const accepted = /^[A-Za-z0-9_-]{1,64}$/
const maxLength = 64
const keptLength = 57

export class ToolNames {
  private readonly safeNames = new Map<string, string>()
  private readonly originals = new Map<string, string>()

  /** The name to send. Names are registered in the order in which they are asked for; one that is fine stays as it is. */
  safe(name: string): string {
    const known = this.safeNames.get(name)
    if (known !== undefined) return known
    const chosen = this.choose(name)
    this.safeNames.set(name, chosen)
    this.originals.set(chosen, name)
    return chosen
  }

  /** The client's name for one that came back. */
  original(name: string): string {
    return this.originals.get(name) ?? name
  }

  private choose(name: string): string {
    const cleaned = accepted.test(name) ? name : name.replace(/[^A-Za-z0-9_-]/g, "_") || "tool"
    if (cleaned.length <= maxLength && !this.originals.has(cleaned)) return cleaned
    const hash = createHash("sha256").update(name).digest("hex").slice(0, 6)
    const base = `${cleaned.slice(0, keptLength)}_${hash}`
    let chosen = base
    for (let counter = 2; this.originals.has(chosen); counter++) {
      const suffix = `_${counter}`
      chosen = base.slice(0, maxLength - suffix.length) + suffix
    }
    return chosen
  }
}
