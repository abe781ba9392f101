/** Something that falls due: earliest first, and in the order of adding within the same millisecond. */
interface Entry<T> {
  readonly at: number;
  readonly order: number;
  readonly value: T;
}

/**
 * A binary heap of things that fall due. Withdrawn entries stay until they reach the top, where `isLive` drops them.
 */
export class DueHeap<T> {
  readonly #entries: Array<Entry<T>> = [];
  readonly #isLive: (value: T, at: number) => boolean;
  #order = 0;

  constructor(isLive: (value: T, at: number) => boolean) {
    this.#isLive = isLive;
  }

  add(at: number, value: T): void {
    const entry = { at, order: this.#order++, value };
    let index = this.#entries.push(entry) - 1;
    while (index > 0) {
      const parent = (index - 1) >>> 1;
      if (!isBefore(entry, this.#entries[parent])) break;
      this.#swap(index, parent);
      index = parent;
    }
  }

  /** When the next live entry falls due; null when there is none. */
  nextAt(): number | null {
    for (let top = this.#entries[0]; top !== undefined; top = this.#entries[0]) {
      if (this.#isLive(top.value, top.at)) return top.at;
      this.#pop();
    }
    return null;
  }

  /** Takes the first live entry that is due at `now`; undefined when there is none. */
  takeDue(now: number): T | undefined {
    const at = this.nextAt();
    return at === null || at > now ? undefined : this.#pop()?.value;
  }

  #pop(): Entry<T> | undefined {
    const top = this.#entries[0];
    const last = this.#entries.pop();
    if (top === undefined || last === undefined || this.#entries.length === 0) return top;
    this.#entries[0] = last;
    this.#sink();
    return top;
  }

  #sink(): void {
    let index = 0;
    for (let child = 1; child < this.#entries.length; child = 2 * index + 1) {
      const right = this.#entries[child + 1];
      const smaller = right !== undefined && isBefore(right, this.#entries[child]) ? child + 1 : child;
      const entry = this.#entries[smaller];
      if (entry === undefined || !isBefore(entry, this.#entries[index])) return;
      this.#swap(index, smaller);
      index = smaller;
    }
  }

  #swap(left: number, right: number): void {
    const [a, b] = [this.#entries[left], this.#entries[right]];
    if (a === undefined || b === undefined) return;
    this.#entries[left] = b;
    this.#entries[right] = a;
  }
}

function isBefore<T>(left: Entry<T>, right: Entry<T> | undefined): boolean {
  return right === undefined || left.at < right.at || (left.at === right.at && left.order < right.order);
}
