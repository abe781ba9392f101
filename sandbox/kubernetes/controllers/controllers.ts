import type { Clock } from '../../base/clock.ts';
import { connect } from '../client/connection.ts';
import type { Lease } from '../client/objects.ts';
import { openEventRecorder } from '../client/record-event.ts';
import { openControllerContext, type ControllerContext, type Shared } from './controller-context.ts';
import { runDaemonSets } from './workloads/daemon-set.ts';
import { runDeployments } from './workloads/deployment.ts';
import { runDisruption } from './disruption.ts';
import { runJobs } from './workloads/job.ts';
import { runNodeLifecycle } from './node-lifecycle.ts';
import { runPodGc } from './pod-gc.ts';
import { runReplicaSets } from './workloads/replica-set.ts';
import { runStatefulSets } from './workloads/stateful-set.ts';
import { runTaintEviction } from './taint-eviction.ts';

/** kube-controller-manager's default for `--node-monitor-grace-period` in 1.36. */
const NODE_GRACE_MS = 50_000;

/** How to run the controllers. */
export interface ControllersOptions {
  /** YAML text of a kubeconfig. */
  readonly kubeconfig: string;
  readonly clock: Clock;
  /** Silence after which a node is lost; 50 s unless told. */
  readonly nodeGraceMs?: number;
  readonly log?: (line: string) => void;
}

/** Running controllers. */
export interface Controllers {
  close(): void;
}

/**
 * Starts the controllers that a provisioner's cluster needs: Deployment, ReplicaSet, StatefulSet, DaemonSet, Job,
 * PodDisruptionBudget, node life cycle, taint eviction and pod garbage collection. Stands in for
 * kube-controller-manager where that is missing; test/contract/kubernetes-runtime holds both to the same cases.
 * Namespaces and the garbage collection of owned objects are the API's own. Resolves when the controllers have seen the
 * cluster.
 */
export async function startControllers(options: ControllersOptions): Promise<Controllers> {
  const connection = connect(options.kubeconfig);
  const events = openEventRecorder(connection, options.clock, 'kube-controller-manager');
  const log = options.log ?? ((): void => undefined);
  const context = openControllerContext({ connection, clock: options.clock, events, log });
  runAll(context, options.nodeGraceMs ?? NODE_GRACE_MS);
  await context.start();
  return {
    close: () => {
      context.close();
      events.close();
      connection.close();
    },
  };
}

function runAll(context: ControllerContext, nodeGraceMs: number): void {
  const leases: Shared<Lease> = context.watch<Lease>('/apis/coordination.k8s.io/v1/leases');
  const sets = runReplicaSets(context);
  const statefulSets = runStatefulSets(context);
  runDeployments(context, sets);
  runDaemonSets(context);
  runJobs(context);
  runDisruption(context, sets, statefulSets);
  runNodeLifecycle(context, leases, nodeGraceMs);
  runTaintEviction(context);
  runPodGc(context);
}
