import { connect, isApiError } from '../../kubernetes/client/connection.ts';
import type { Pod } from '../../kubernetes/client/objects.ts';
import { watchObjects } from '../../kubernetes/client/watch-objects.ts';
import { openWriteQueue } from '../../kubernetes/client/write-queue.ts';
import { toTime } from '../../kubernetes/timestamp.ts';
import type { Child } from './child.ts';
import type { Clock } from '../../base/clock.ts';

/** The namespace of the relay's pods and of its Lease: where Karpenter's clients look. */
export const SYSTEM_NAMESPACE = 'kube-system';

/** A relay that runs as a process, and where its Pod says that it is found. */
export interface RelayPodOptions {
  readonly kubeconfig: string;
  readonly clock: Clock;
  readonly name: string;
  readonly address: string;
  readonly metricsPort: number;
  /** Starts anew when somebody deletes the Pod, also where it had ended. */
  readonly relay: Pick<Child, 'stop' | 'start'>;
  readonly log: (line: string) => void;
}

/** The Pod that stands for a relay's process. */
export interface RelayPod {
  /** The process is ready, or it has ended. */
  tell(state: 'ready' | 'ended'): void;
  /** Resolves when the API says what was told last. */
  shown(): Promise<void>;
  /** The Pod stays as it is; the cluster ends soon. */
  close(): void;
}

const PODS = `/api/v1/namespaces/${SYSTEM_NAMESPACE}/pods`;
const CONTAINER = 'controller';

/**
 * Keeps a Pod for a relay: Ready while the process is, and not while it is away; a restart counts as one of its
 * container. Who deletes the Pod restarts the relay, and gets a new Pod of the same name.
 */
export async function keepRelayPod(options: RelayPodOptions): Promise<RelayPod> {
  const connection = connect(options.kubeconfig);
  const writes = openWriteQueue({
    concurrency: 1,
    onDropped: (_, error) => options.log(`its Pod cannot be written: ${String(error)}`),
  });
  let life: Life = { ready: false, starts: 0, sinceMs: options.clock.now() };
  const show = (): void =>
    writes.put(options.name, async () => {
      await connection.create(PODS, renderPod(options)).catch(unlessThere);
      await connection.patch(`${PODS}/${options.name}/status`, 'strategic', { status: renderStatus(options, life) });
    });
  const tell = (state: 'ready' | 'ended'): void => {
    const ready = state === 'ready';
    life = { ready, starts: life.starts + (ready ? 1 : 0), sinceMs: options.clock.now() };
    show();
  };
  const replace = async (): Promise<void> => {
    await options.relay.stop();
    life = { ...life, starts: 0 };
    show();
    await options.relay.start();
  };
  const pods = watchObjects<Pod>({
    connection,
    path: PODS,
    query: `fieldSelector=metadata.name%3D${options.name}`,
    onChange: () => undefined,
    onDelete: () => {
      options.log('its Pod was deleted: it starts again');
      replace().catch((error: unknown) => options.log(`it does not start again: ${String(error)}`));
    },
  });
  await pods.synced;
  show();
  return {
    tell,
    shown: () => writes.idle(),
    close: () => {
      pods.close();
      writes.close();
      connection.close();
    },
  };
}

function unlessThere(error: unknown): void {
  if (!isApiError(error, 409)) throw error;
}

interface Life {
  readonly ready: boolean;
  readonly starts: number;
  readonly sinceMs: number;
}

/**
 * It has no owner, for no Deployment made it; and no node and no scheduler, for it runs on none: it takes no place in
 * the cluster, and nobody looks for one. Labels and port are those by which Karpenter's chart and suites know its pods.
 */
function renderPod({ name, metricsPort }: RelayPodOptions): object {
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      name,
      namespace: SYSTEM_NAMESPACE,
      labels: {
        'app.kubernetes.io/name': 'karpenter',
        'app.kubernetes.io/instance': 'karpenter',
        'app.kubernetes.io/part-of': 'nodewright',
        'app.kubernetes.io/component': 'relay',
      },
    },
    spec: {
      schedulerName: 'sandbox',
      containers: [
        {
          name: CONTAINER,
          image: 'nodewright-relay:sandbox',
          ports: [{ name: 'http-metrics', containerPort: metricsPort, protocol: 'TCP' }],
        },
      ],
    },
  };
}

function renderStatus({ address }: RelayPodOptions, { ready, starts, sinceMs }: Life): object {
  const at = toTime(sinceMs);
  const condition = (type: string, holds: boolean): object => ({
    type,
    status: holds ? 'True' : 'False',
    reason: holds ? null : 'ContainersNotReady',
    lastTransitionTime: at,
  });
  const running = { running: { startedAt: at }, waiting: null };
  const waiting = { running: null, waiting: { reason: starts === 0 ? 'ContainerCreating' : 'CrashLoopBackOff' } };
  return {
    phase: starts === 0 ? 'Pending' : 'Running',
    hostIP: address,
    hostIPs: [{ ip: address }],
    podIP: address,
    podIPs: [{ ip: address }],
    conditions: [
      condition('PodScheduled', true),
      condition('PodReadyToStartContainers', true),
      condition('Initialized', true),
      condition('ContainersReady', ready),
      condition('Ready', ready),
    ],
    containerStatuses: [
      {
        name: CONTAINER,
        image: 'nodewright-relay:sandbox',
        imageID: '',
        ready,
        started: ready,
        restartCount: Math.max(0, starts - 1),
        state: ready ? running : waiting,
      },
    ],
  };
}
