/** Where the sandbox's parts get their time from, so that the same parts run live and in a simulation. */
export interface Clock {
  /** Milliseconds since the Unix epoch. */
  now(): number;
  /** Calls `task` once, `delayMs` from now. The answer cancels it; cancelling twice is harmless. */
  after(delayMs: number, task: () => void): () => void;
}

/** The machine's clock. Timers are unreferenced: they never keep a finished process alive. */
export const systemClock: Clock = {
  now: () => Date.now(),
  after(delayMs, task) {
    const timer = setTimeout(task, delayMs);
    timer.unref();
    return () => {
      clearTimeout(timer);
    };
  },
};

interface Task {
  readonly at: number;
  readonly sequence: number;
  readonly run: () => void;
}

/** A clock that moves only when told to. Tasks due at the same instant run in the order they were set. */
export class VirtualClock implements Clock {
  #now: number;
  #sequence = 0;
  #tasks: Array<Task> = [];

  constructor(startMs = 0) {
    this.#now = startMs;
  }

  now(): number {
    return this.#now;
  }

  after(delayMs: number, task: () => void): () => void {
    const entry = { at: this.#now + Math.max(0, delayMs), sequence: this.#sequence++, run: task };
    this.#tasks.push(entry);
    return () => {
      this.#tasks = this.#tasks.filter((other) => other !== entry);
    };
  }

  /** Moves time forward by `deltaMs`, running what falls due, in order. */
  advance(deltaMs: number): void {
    const until = this.#now + deltaMs;
    for (let next = this.#takeDue(until); next !== undefined; next = this.#takeDue(until)) {
      this.#now = next.at;
      next.run();
    }
    this.#now = until;
  }

  #takeDue(until: number): Task | undefined {
    const due = this.#tasks
      .filter(({ at }) => at <= until)
      .toSorted((a, b) => a.at - b.at || a.sequence - b.sequence)[0];
    if (due !== undefined) this.#tasks = this.#tasks.filter((entry) => entry !== due);
    return due;
  }
}
