import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startCluster } from '../../../sandbox/kubernetes/cluster.ts';
import { startControlPlane } from '../../../sandbox/kubernetes/control-plane/control-plane.ts';
import { startControllers } from '../../../sandbox/kubernetes/controllers/controllers.ts';
import { startKubelets } from '../../../sandbox/kubernetes/kubelet/kubelets.ts';
import { startScheduler } from '../../../sandbox/kubernetes/scheduler/scheduler.ts';
import { systemClock } from '../../../sandbox/base/clock.ts';
import { rngFrom } from '../../../sandbox/base/rng.ts';
import { NODE_GRACE_MS, type Runtime } from './runtime.ts';

/** Quick pods: these cases are about what happens, not about how long it takes. */
const pace = { podStartMs: { min: 20, max: 150 }, podStopMs: { min: 10, max: 50 } };
const leaseRenewMs = NODE_GRACE_MS / 4;

/** The folder of the real binaries, empty where there are none. */
export const assets = process.env['KUBEBUILDER_ASSETS'] ?? '';

/** A cluster of the given mode, in a folder that is removed at the end. */
export async function clusterOf(mode: 'embedded' | 'real'): Promise<Runtime> {
  const folder = mkdtempSync(join(tmpdir(), 'cluster-'));
  const options = {
    folder,
    clock: systemClock,
    rng: rngFrom('contract'),
    nodeGraceMs: NODE_GRACE_MS,
    leaseRenewMs,
    ...pace,
  };
  const cluster = await startCluster(mode === 'real' ? { ...options, mode, assets } : { ...options, mode });
  return { kubeconfig: cluster.kubeconfig, kubelets: cluster.kubelets, close: () => closeIn(folder, [cluster]) };
}

/** The real API server with our own controllers and scheduler: what they rest on is then not our own double. */
export async function doublesOnRealApi(): Promise<Runtime> {
  const folder = mkdtempSync(join(tmpdir(), 'cluster-'));
  const plane = await startControlPlane({ assets, folder, with: [] });
  const log =
    process.env['LOG'] === undefined
      ? (): void => undefined
      : (line: string): void => void process.stderr.write(`${line}\n`);
  const options = { kubeconfig: plane.kubeconfig, clock: systemClock, rng: rngFrom('contract'), log };
  const controllers = await startControllers({ ...options, nodeGraceMs: NODE_GRACE_MS });
  const scheduler = await startScheduler(options);
  const kubelets = await startKubelets({ ...options, ...pace, leaseRenewMs });
  const close = (): Promise<void> => closeIn(folder, [kubelets, scheduler, controllers, plane]);
  return { kubeconfig: plane.kubeconfig, kubelets, close };
}

async function closeIn(folder: string, parts: ReadonlyArray<{ close(): Promise<void> | void }>): Promise<void> {
  for (const part of parts) await part.close();
  rmSync(folder, { recursive: true, force: true });
}
