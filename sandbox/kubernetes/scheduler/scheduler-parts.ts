import type { Clock } from '../../base/clock.ts';
import type { Rng } from '../../base/rng.ts';
import type { Connection } from '../client/connection.ts';
import type { KubernetesObject, Node, Pod } from '../client/objects.ts';
import type { EventRecorder } from '../client/record-event.ts';
import type { Watched } from '../client/watch-objects.ts';
import type { WriteQueue } from '../client/write-queue.ts';
import type { ClusterState } from './cluster-state.ts';
import type { Nominations } from './nominations.ts';
import type { DisruptionBudget } from './plan-preemption.ts';
import type { QueuedPod, SchedulingQueue } from './scheduling-queue.ts';
import type { PersistentVolume, StorageClass, VolumeClaim } from './node/volume-needs.ts';

/** The name by which pods ask for this scheduler, and by which it reports. */
export const SCHEDULER_NAME = 'default-scheduler';

/** How to run the scheduler. */
export interface SchedulerOptions {
  /** YAML text of a kubeconfig. */
  readonly kubeconfig: string;
  readonly clock: Clock;
  /** Draws among nodes with equal scores. */
  readonly rng: Rng;
  readonly log?: (line: string) => void;
}

/** What the scheduler watches. */
export interface Watches {
  readonly pods: Watched<Pod>;
  readonly nodes: Watched<Node>;
  readonly namespaces: Watched<KubernetesObject>;
  readonly claims: Watched<VolumeClaim>;
  readonly volumes: Watched<PersistentVolume>;
  readonly classes: Watched<StorageClass>;
  readonly budgets: Watched<DisruptionBudget>;
}

/** The last answer to a kind of pod, good while nothing has changed. */
export interface FailureMemo {
  readonly version: string;
  readonly message: string;
  readonly topological: boolean;
}

/** What the scheduler is made of, for its own modules. */
export interface Parts {
  readonly options: SchedulerOptions;
  readonly connection: Connection;
  readonly state: ClusterState;
  readonly queue: SchedulingQueue;
  readonly nominations: Nominations;
  /** Bindings and evictions, which others wait for. */
  readonly bindings: WriteQueue;
  /** Conditions of pods that found no node, which must not delay a binding. */
  readonly reports: WriteQueue;
  /** Reports that are on the wire, by pod uid: a binding waits for its pod's. */
  readonly reporting: Map<string, Promise<void>>;
  readonly events: EventRecorder;
  /** Pods whose binding is on its way, by uid. */
  readonly binding: Map<string, QueuedPod>;
  readonly watches: Watches;
  /** By shape of pod. */
  readonly failures: Map<string, FailureMemo>;
  startAt: number;
  closed: boolean;
  /** Ends the scheduler's sleep. */
  rouse: () => void;
}
