/** Lets long work share the loop with requests: it gives way after a few milliseconds, however many steps it took in them. */
import { Effect, type Fiber, Scheduler } from "effect"

/** Milliseconds. */
const slice = 4

class TimeSlices extends Scheduler.MixedScheduler {
  #until = 0
  #steps = 0

  override shouldYield(fiber: Fiber.Fiber<unknown, unknown>): boolean {
    // The count begins anew whenever a fiber goes on.
    if (fiber.currentOpCount === 1) this.#until = performance.now() + slice
    // To ask the clock at every step would be much of the work.
    return ++this.#steps % 8 === 0 && performance.now() > this.#until
  }
}

/** Runs work that nobody waits for in slices of time. What it forks shares them. */
export const inSlices = Effect.provideService(Scheduler.Scheduler, new TimeSlices())
