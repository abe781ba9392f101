import type { Refusal } from '../../../shared/adapters/azure/catalog/refusals.ts';
import type { SpotMemory, SpotStorm } from '../../../shared/core/offerings/spot-storms.ts';
import type { EvictedMachine, RefusedOffering } from '../../../shared/ports/cloud.ts';
import type { Hint } from '../../../shared/ports/hints.ts';
import type { ApiRequest } from '../../../shared/adapters/kubernetes/transport.ts';
import type { ApiServer, Reply } from './api-server.ts';
import type { Azure } from './azure.ts';
import type { MemoryBlobs } from './memory-blobs.ts';
import type { Queue } from './queue.ts';
import type { Timeline } from './timeline.ts';

/** The world as a process of the app reaches it. */
export interface Outside {
  readonly cluster: string;
  /** Whether nodes are disrupted of the app's own accord. */
  readonly disrupts: boolean;
  readonly timeline: Timeline;
  readonly server: ApiServer;
  /** The API server's answer to a request of ours, policies and versions included. */
  readonly answer: (request: ApiRequest) => Reply;
  readonly azure: Azure;
  readonly blobs: MemoryBlobs;
  readonly queueOf: (hint: Hint) => Queue;
  /** The newest node image. */
  readonly image: () => string;
  readonly isHealed: () => boolean;
  readonly refusals: () => ReadonlyArray<Refusal>;
  readonly refuse: (refusals: ReadonlyArray<RefusedOffering>) => void;
  readonly spotMemory: () => SpotMemory;
  readonly evicted: (machine: EvictedMachine) => ReadonlyArray<SpotStorm>;
  readonly nextRetryMs: () => number | null;
  readonly poison: (message: unknown, reason: string, from: string) => void;
  /** Runs the effect of a call, watched by the laws. */
  readonly act: <T>(by: { readonly name: string }, what: string, effect: () => T) => T;
  readonly log: (process: string, event: string, facts: Readonly<Record<string, unknown>>) => void;
  /** Writes a line into the trace. */
  readonly note: (text: string) => void;
}
