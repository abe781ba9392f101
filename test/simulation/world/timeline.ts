import type { Clock } from '../../../sandbox/base/clock.ts';

interface Entry {
  readonly at: number;
  readonly sequence: number;
  readonly run: () => void;
}

/**
 * A clock whose tasks may resume promises: between two tasks everything that can go on does go on. So code that awaits
 * runs in virtual time, as concurrently as its waits say, and always in the same order.
 */
export class Timeline implements Clock {
  #now: number;
  #sequence = 0;
  #resumed = false;
  readonly #heap: Array<Entry> = [];
  readonly #cancelled = new Set<number>();

  constructor(startMs: number) {
    this.#now = startMs;
  }

  now(): number {
    return this.#now;
  }

  after(delayMs: number, task: () => void): () => void {
    const sequence = this.#sequence++;
    this.#push({ at: this.#now + Math.max(0, delayMs), sequence, run: task });
    return () => this.#cancelled.add(sequence);
  }

  /** Resolves `delayMs` from now. */
  sleep(delayMs: number): Promise<void> {
    return new Promise((resolve) => {
      this.after(delayMs, () => this.resume(resolve));
    });
  }

  /** Calls `act`, which starts or settles promises, and lets whoever awaits them go on before the next task. */
  resume(act: () => void): void {
    this.#resumed = true;
    act();
  }

  /** Runs what falls due until `untilMs`, with `afterEach` after each task. */
  async run(untilMs: number, afterEach: () => void): Promise<void> {
    for (let first = this.#heap[0]; first !== undefined && first.at <= untilMs; first = this.#heap[0]) {
      this.#pop();
      if (this.#cancelled.delete(first.sequence)) continue;
      this.#now = first.at;
      first.run();
      if (this.#resumed) {
        this.#resumed = false;
        // All microtasks end before the event loop comes to its next phase.
        await new Promise<void>((resolve) => {
          setImmediate(resolve);
        });
      }
      afterEach();
    }
    this.#now = Math.max(this.#now, untilMs);
  }

  #push(entry: Entry): void {
    const heap = this.#heap;
    let index = heap.push(entry) - 1;
    while (index > 0) {
      const parent = (index - 1) >> 1;
      if (!isBefore(entry, heap[parent])) break;
      heap[index] = heap[parent] ?? entry;
      index = parent;
    }
    heap[index] = entry;
  }

  #pop(): void {
    const heap = this.#heap;
    const last = heap.pop();
    if (last === undefined || heap.length === 0) return;
    let index = 0;
    for (let child = 1; child < heap.length; child = 2 * index + 1) {
      if (child + 1 < heap.length && isBefore(heap[child + 1], heap[child])) child += 1;
      const smaller = heap[child];
      if (smaller === undefined || !isBefore(smaller, last)) break;
      heap[index] = smaller;
      index = child;
    }
    heap[index] = last;
  }
}

function isBefore(a: Entry | undefined, b: Entry | undefined): boolean {
  if (a === undefined || b === undefined) return false;
  return a.at < b.at || (a.at === b.at && a.sequence < b.sequence);
}
