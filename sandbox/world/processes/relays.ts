import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Cluster } from '../../kubernetes/cluster.ts';
import { type Child, createChild } from './child.ts';
import { systemClock } from '../../base/clock.ts';
import { openPodPort, type PodPort } from './pod-port.ts';
import { keepRelayPod, type RelayPod, SYSTEM_NAMESPACE } from './relay-pod.ts';
import { kubeletDelayMs } from './restart-delay.ts';

/** Ports on loopback that a relay binds. */
export interface RelayPorts {
  readonly metrics: number;
  readonly health: number;
}

/** How to run the relays, each as a process with a Pod that stands for it. */
export interface RelaysOptions {
  readonly cluster: Cluster;
  /** How the relays reach it. */
  readonly kubeconfigPath: string;
  /** Where the built app is. */
  readonly root: string;
  readonly appFolder?: string;
  /** The settings that all of them share. */
  readonly environment: Readonly<Record<string, string>>;
  /** One entry for each relay. */
  readonly ports: ReadonlyArray<RelayPorts>;
  readonly onLine: (from: string, line: string) => void;
}

/** The relays, not yet started. */
export interface Relays {
  readonly children: ReadonlyArray<Child>;
  /** Sentences for the user: why the metrics are not where clients look for them. Empty when they are. */
  readonly notes: ReadonlyArray<string>;
  /** Starts all; resolves when they are ready and their Pods say so. */
  start(): Promise<void>;
  /** Lets the Pods be: from now on processes come and go unseen. */
  close(): Promise<void>;
}

/** Karpenter's port for metrics. */
const METRICS_PORT = 8080;

/** Makes the Pods of the relays, and opens the ports at which the API server reaches them. */
export async function openRelays(options: RelaysOptions): Promise<Relays> {
  const relays: Array<Relay> = [];
  for (const [index, ports] of options.ports.entries()) {
    relays.push(await openRelay(options, `nodewright-relay-${index + 1}`, ports));
  }
  const notes = relays.flatMap(noteOf);
  for (const note of notes) options.onLine('relay', note);
  return {
    children: relays.map(({ child }) => child),
    notes,
    start: async () => {
      await Promise.all(relays.map(({ child }) => child.start()));
      await Promise.all(relays.map(({ pod }) => pod.shown()));
    },
    close: async () => {
      for (const { pod } of relays) pod.close();
      await Promise.all(relays.map(({ port }) => port.close()));
    },
  };
}

interface Relay {
  readonly name: string;
  readonly child: Child;
  readonly port: PodPort;
  readonly pod: RelayPod;
}

async function openRelay(options: RelaysOptions, name: string, ports: RelayPorts): Promise<Relay> {
  const { cluster, onLine } = options;
  const port = await openPodPort(METRICS_PORT, ports.metrics);
  const child = relayChild(options, name, ports, (state) => pod.tell(state));
  const pod = await keepRelayPod({
    kubeconfig: cluster.kubeconfig,
    clock: systemClock,
    name,
    address: port.address,
    metricsPort: port.port,
    relay: child,
    log: (line) => onLine('relay', `${name}: ${line}`),
  });
  return { name, child, port, pod };
}

function noteOf({ name, port }: Relay): ReadonlyArray<string> {
  const metrics = `the metrics of ${name} are`;
  if (port.address === '127.0.0.1') {
    const where = `at http://127.0.0.1:${port.port}/metrics`;
    return [`This machine has no address but loopback: ${metrics} ${where}, not behind the API server.`];
  }
  if (port.port === METRICS_PORT) return [];
  const path = `/api/v1/namespaces/${SYSTEM_NAMESPACE}/pods/${name}:${port.port}/proxy/metrics`;
  return [`Port ${METRICS_PORT} is taken by another program: ${metrics} at ${path}.`];
}

/** What the relay's image sets: here it needs as much memory as there. */
export function imageEnvironment(root: string): Readonly<Record<string, string>> {
  const [, stated = ''] = /^ENV (.*)$/m.exec(readFileSync(join(root, 'relay/Dockerfile'), 'utf8')) ?? [];
  return Object.fromEntries(
    [...stated.matchAll(/(\w+)=("[^"]*"|\S+)/g)].map(([, name = '', value = '']) => [name, value.replaceAll('"', '')]),
  );
}

function relayChild(
  { root, appFolder, environment, kubeconfigPath, onLine }: RelaysOptions,
  name: string,
  ports: RelayPorts,
  onState: (state: 'ready' | 'ended') => void,
): Child {
  return createChild({
    name: 'relay',
    args: [join(appFolder ?? root, 'dist/relay/relay.js')],
    environment: {
      ...imageEnvironment(root),
      ...environment,
      KUBECONFIG: kubeconfigPath,
      POD_NAME: name,
      POD_NAMESPACE: SYSTEM_NAMESPACE,
      METRICS_PORT: String(ports.metrics),
      HEALTH_PORT: String(ports.health),
      BIND_ADDRESS: '127.0.0.1',
    },
    ready: /"relay started"/,
    restartDelayMs: kubeletDelayMs,
    onLine: (line) => onLine('relay', line),
    onState,
  });
}
