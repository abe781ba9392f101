import type { Clock } from '../../base/clock.ts';
import type { Rng } from '../../base/rng.ts';
import type { ArmErrorBody } from './arm-error.ts';
import { drawGuid } from './guid.ts';

/** One long-running operation, as its status document shows it. */
export interface Operation {
  readonly id: string;
  readonly provider: 'Microsoft.Compute' | 'Microsoft.Network';
  /** Whether it says when to ask again: those that make and delete VMs do, those of extensions do not. */
  readonly isPaced: boolean;
  /** How often it has been asked about: the network provider asks for twice the patience each time. */
  polls: number;
  readonly startedAt: number;
  readonly endedAt: number | null;
  readonly status: 'InProgress' | 'Succeeded' | 'Failed' | 'Canceled';
  readonly error: ArmErrorBody | null;
}

/** Every operation the double has started. They outlive their clients: any client may ask for any of them. */
export class Operations {
  readonly #clock: Clock;
  readonly #rng: Rng;
  readonly #operations = new Map<string, Operation>();

  constructor(clock: Clock, rng: Rng) {
    this.#clock = clock;
    this.#rng = rng;
  }

  /** Opens an operation; the answer is its id. */
  start(provider: Operation['provider'], { isPaced = true }: { readonly isPaced?: boolean } = {}): string {
    const id = drawGuid(this.#rng);
    const startedAt = this.#clock.now();
    this.#operations.set(id, {
      id,
      provider,
      startedAt,
      endedAt: null,
      status: 'InProgress',
      error: null,
      isPaced,
      polls: 0,
    });
    return id;
  }

  /** Ends an operation. Ending an ended operation again changes nothing: the first outcome stands. */
  end(id: string, outcome: { readonly status: 'Succeeded' | 'Canceled' } | { readonly error: ArmErrorBody }): void {
    const operation = this.#operations.get(id);
    if (operation === undefined || operation.endedAt !== null) return;
    const ended = { ...operation, endedAt: this.#clock.now() };
    const failed = 'error' in outcome;
    this.#operations.set(
      id,
      failed ? { ...ended, status: 'Failed', error: outcome.error } : { ...ended, status: outcome.status, error: null },
    );
  }

  find(id: string): Operation | null {
    return this.#operations.get(id.toLowerCase()) ?? null;
  }
}

/**
 * The status document of an operation, as `Azure-AsyncOperation` serves it. The network provider's has no name and no
 * times.
 */
export function renderOperation(operation: Operation): object {
  if (operation.provider === 'Microsoft.Network')
    return { status: operation.status, ...(operation.error === null ? {} : { error: operation.error }) };
  return {
    name: operation.id,
    status: operation.status,
    startTime: new Date(operation.startedAt).toISOString(),
    ...(operation.endedAt === null ? {} : { endTime: new Date(operation.endedAt).toISOString() }),
    ...(operation.error === null ? {} : { error: operation.error }),
  };
}
