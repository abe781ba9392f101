import { deliverObjectsTo } from '../../../functions/deliver/deliver-objects.ts';
import { deliverPodsTo } from '../../../functions/deliver/deliver-pods.ts';
import { deliverSignalsTo } from '../../../functions/deliver/deliver-signals.ts';
import { disrupt } from '../../../shared/app/disrupt/disrupt.ts';
import { sweep } from '../../../shared/app/sweep/sweep.ts';
import type { Rng } from '../../../sandbox/base/rng.ts';
import type { CallFaults } from './faults.ts';
import type { Outside } from './outside.ts';
import { Process } from './process.ts';
import type { Delivery, Queue, Queues } from './queue.ts';

interface HostParts {
  readonly outside: Outside;
  readonly rng: Rng;
  readonly faults: CallFaults;
  readonly queues: Queues;
}

const PROCESSES = 3;
/** Messages of one invocation of `provision`. */
const BATCH_MAX = 8;
const SWEEP_EVERY_MS = 60_000;
/** As often as the product's timer. */
const DISRUPT_EVERY_MS = 10_000;
const RESTART_MS = 3_000;
/** Event Grid tries again after 10 s, 30 s, 1 min and so on; four tries are enough here. */
const PUSH_PAUSES_MS = [0, 10_000, 30_000, 60_000];

/**
 * The Functions host: hands messages to workers as the triggers in `functions/` do, and survives theirs deaths. What a
 * dead worker was doing is delivered again when its lock has run out.
 */
export class Host {
  readonly #parts: HostParts;
  #processes: Array<Process>;
  readonly #working = new Map<Process, Set<Delivery>>();
  #started = 0;
  #invocations = 0;
  #sweeping: Process | null = null;
  /** Sweeps that came to their end. */
  sweeps = 0;
  /** When the last two sweeps that came to their end, and were kept from nothing, began. */
  sweptSinceMs: ReadonlyArray<number> = [];

  constructor(parts: HostParts) {
    this.#parts = parts;
    this.#processes = [];
    for (let index = 0; index < PROCESSES; index++) this.#start();
    this.#scheduleSweep();
    if (parts.outside.disrupts) this.#scheduleDisruption();
  }

  /** A worker that lives. Throws when none does. */
  anyProcess(): Process {
    const process = this.#pick();
    if (process === null) throw new Error('no worker lives');
    return process;
  }

  /** Invocations that have not ended. */
  get busy(): number {
    return [...this.#working.values()].reduce((sum, deliveries) => sum + deliveries.size, 0);
  }

  #start(): void {
    this.#started += 1;
    const { outside, faults, rng } = this.#parts;
    const name = `p${this.#started}`;
    const process: Process = new Process({
      name,
      rng: rng.split(name),
      outside,
      faults: () => faults,
      onDeath: () => {
        for (const delivery of this.#working.get(process) ?? []) delivery.forget();
        this.#working.delete(process);
        this.#processes = this.#processes.filter((one) => one !== process);
        if (this.#sweeping === process) this.#sweeping = null;
        outside.timeline.after(RESTART_MS, () => {
          this.#start();
          this.pump();
        });
      },
    });
    this.#working.set(process, new Set());
    this.#processes.push(process);
  }

  /** Takes what can be taken from the queues. */
  pump(): void {
    const { pods, claims, launches, signals } = this.#parts.queues;
    this.#drain(pods, BATCH_MAX, (process, delivery) => this.#provision(process, delivery));
    for (const queue of [claims, launches]) {
      this.#drain(queue, 1, (process, delivery) => this.#follow(process, delivery));
    }
    this.#drain(signals, 1, (process, delivery) => this.#interrupt(process, delivery));
  }

  /** An event that Event Grid pushes, again when it was not taken. */
  push(event: unknown, attempt = 0): void {
    const { outside, rng } = this.#parts;
    const pause = PUSH_PAUSES_MS[attempt];
    if (pause === undefined) return;
    outside.timeline.after(pause + rng.below(5_000), () => {
      const process = this.#pick();
      if (process === null) return this.push(event, attempt + 1);
      const context = this.#context('interruptEventGrid');
      outside.timeline.resume(() => {
        deliverSignalsTo(process, context, event).catch(() => this.push(event, attempt + 1));
      });
      if (rng.chance(20)) this.push(event, attempt + 1);
      return undefined;
    });
  }

  #drain(queue: Queue, limit: number, use: (process: Process, delivery: Delivery) => Promise<void>): void {
    for (;;) {
      const process = this.#pick();
      const delivery = process === null ? null : queue.receive(limit);
      if (process === null || delivery === null) return;
      this.#working.get(process)?.add(delivery);
      const ended = (end: () => void) => () => {
        this.#working.get(process)?.delete(delivery);
        end();
      };
      this.#parts.outside.timeline.resume(() => {
        use(process, delivery).then(ended(delivery.complete), ended(delivery.abandon));
      });
    }
  }

  #pick(): Process | null {
    return this.#processes[this.#parts.rng.below(Math.max(1, this.#processes.length))] ?? null;
  }

  async #provision(process: Process, { messages }: Delivery): Promise<void> {
    const bodies = messages.map(({ body }) => body);
    await deliverPodsTo(process, this.#context('provision'), bodies);
  }

  async #follow(process: Process, { messages }: Delivery): Promise<void> {
    for (const { body } of messages) await deliverObjectsTo(process, this.#context('follow'), body);
  }

  async #interrupt(process: Process, { messages }: Delivery): Promise<void> {
    const bodies = messages.map(({ body }) => body);
    await deliverSignalsTo(process, this.#context('interrupt'), bodies);
  }

  #context(functionName: string) {
    this.#invocations += 1;
    const { outside } = this.#parts;
    const invocationId = String(this.#invocations);
    return {
      functionName,
      invocationId,
      info: (line: string) => outside.log(functionName, line, {}),
      error: (...words: ReadonlyArray<unknown>) => outside.note(`ERROR ${functionName} ${words.map(String).join(' ')}`),
    };
  }

  #scheduleDisruption(): void {
    const { outside } = this.#parts;
    outside.timeline.after(DISRUPT_EVERY_MS, () => {
      this.#scheduleDisruption();
      void this.#disrupt();
    });
  }

  /** Two may run at once, as on two instances after a deployment. */
  async #disrupt(): Promise<void> {
    const process = this.#pick();
    if (process === null) return;
    const { outside } = this.#parts;
    try {
      const outcome = await disrupt(process.ports);
      outside.note(`disrupt: ${JSON.stringify(outcome)}`);
    } catch (error) {
      outside.note(`disrupt failed: ${String(error)}`);
    }
  }

  #scheduleSweep(): void {
    const { outside } = this.#parts;
    outside.timeline.after(SWEEP_EVERY_MS, () => {
      this.#scheduleSweep();
      void this.#sweep();
    });
  }

  async #sweep(): Promise<void> {
    const process = this.#pick();
    if (process === null || this.#sweeping !== null) return;
    const { outside } = this.#parts;
    this.#sweeping = process;
    const beganMs = outside.timeline.now();
    try {
      let wasKept = false;
      const { log } = process.ports;
      await sweep({
        ...process.ports,
        log: (event, facts) => {
          if (event === 'orphan-kept') wasKept = true;
          log(event, facts);
        },
      });
      this.sweeps += 1;
      if (!wasKept) this.sweptSinceMs = [...this.sweptSinceMs.slice(-1), beganMs];
    } catch (error) {
      outside.note(`sweep failed: ${String(error)}`);
    }
    this.#sweeping = null;
  }
}
