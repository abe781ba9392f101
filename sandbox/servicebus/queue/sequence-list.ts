/**
 * Sequence numbers in rising order, cheap at both ends: new messages are added behind, receivers take from the front,
 * abandoned messages return near the front.
 */
export class SequenceList {
  #items: Array<number> = [];
  #head = 0;

  get size(): number {
    return this.#items.length - this.#head;
  }

  /** The smallest number; undefined when empty. */
  first(): number | undefined {
    return this.#items[this.#head];
  }

  /** Adds a number; adding one that is there changes nothing. */
  add(sequence: number): void {
    const last = this.#items.at(-1);
    if (this.size === 0 || last === undefined || sequence > last) {
      this.#items.push(sequence);
      return;
    }
    const index = this.#lowerBound(sequence);
    if (this.#items[index] === sequence) return;
    if (index === this.#head && this.#head > 0) this.#items[--this.#head] = sequence;
    else this.#items.splice(index, 0, sequence);
  }

  /** Removes a number; true when it was there. */
  remove(sequence: number): boolean {
    const index = this.#lowerBound(sequence);
    if (this.#items[index] !== sequence) return false;
    if (index === this.#head) this.#dropHead();
    else this.#items.splice(index, 1);
    return true;
  }

  #dropHead(): void {
    this.#head++;
    // Half of the array may be dead before it is copied, so that taking from the front costs constant time on average.
    if (this.#head * 2 < this.#items.length) return;
    this.#items = this.#items.slice(this.#head);
    this.#head = 0;
  }

  #lowerBound(sequence: number): number {
    let low = this.#head;
    let high = this.#items.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((this.#items[middle] ?? Number.POSITIVE_INFINITY) < sequence) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}
