import { generateKeyPairSync, randomBytes } from 'node:crypto';
import { accessSync, constants, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { connect } from '../client/connection.ts';
import { renderKubeconfig } from '../client/kubeconfig.ts';
import { openChildGroup, type ChildGroup } from './child-group.ts';
import {
  apiServerFlags,
  controllerManagerFlags,
  etcdFlags,
  schedulerFlags,
  type ControlPlaneSettings,
  type Signer,
} from './flags.ts';
import { findFreePorts } from './free-ports.ts';

/** Ready is 2 s on an idle machine of two cores; sixty times that means that it never will be. */
const READY_MS = 120_000;
const POLL_MS = 25;
/** A port found free can be taken before its owner binds it; three times in a row is not chance. */
const MAX_STARTS = 3;
/** kube-controller-manager's default for `--node-monitor-grace-period` in 1.36. */
const NODE_GRACE_MS = 50_000;

const programs = ['etcd', 'kube-apiserver', 'kube-controller-manager', 'kube-scheduler'] as const;

/** How to run a control plane. */
export interface ControlPlaneOptions {
  /** The folder with the binaries, by convention the value of KUBEBUILDER_ASSETS. */
  readonly assets: string;
  /**
   * Where data, certificates, logs and the kubeconfig go. A folder that held a control plane before resumes its data.
   */
  readonly folder: string;
  /** Silence after which a node is lost; 50 s unless told, shorter for tests of lost nodes. */
  readonly nodeGraceMs?: number;
  /** What runs beside etcd and the API server; both unless told, less for those who bring their own. */
  readonly with?: ReadonlyArray<'kube-controller-manager' | 'kube-scheduler'>;
  /** An authority of one's own: kubelets can then have certificates, and are held to their own node with them. */
  readonly signer?: Signer;
  readonly log?: (line: string) => void;
}

/** A running control plane, and how to talk to it. */
export interface ControlPlane {
  readonly url: string;
  readonly kubeconfigPath: string;
  /** The kubeconfig's text: one context, cluster administrator. */
  readonly kubeconfig: string;
  readonly token: string;
  /** The API server's certificate, PEM in base64, as in a kubeconfig's `certificate-authority-data`. */
  readonly caData: string;
  /** Ends all programs; data stays in the folder. */
  close(): Promise<void>;
}

/**
 * Starts etcd, kube-apiserver, kube-controller-manager and kube-scheduler on free loopback ports and resolves when the
 * API server is ready and has its default objects. The programs end with this process, even when it is killed.
 * Throws an error that names the program, with the end of its log, when one is missing or does not become ready.
 */
export async function startControlPlane(options: ControlPlaneOptions): Promise<ControlPlane> {
  for (const program of programs) requireProgram(options.assets, program);
  const certs = join(options.folder, 'certs');
  const logs = join(options.folder, 'logs');
  mkdirSync(certs, { recursive: true });
  mkdirSync(logs, { recursive: true });
  const token = writeSecrets(certs);
  for (let start = 1; ; start++) {
    const [etcdPort = 0, apiPort = 0] = await findFreePorts(2);
    const group = openChildGroup(logs, options.log);
    try {
      const settings = {
        folder: options.folder,
        etcdPort,
        apiPort,
        nodeGraceMs: options.nodeGraceMs ?? NODE_GRACE_MS,
        signer: options.signer ?? null,
      };
      return await startPrograms(options, settings, { token, group });
    } catch (error) {
      await group.close();
      const portTaken = /address already in use/.test(String(error));
      if (!portTaken || start === MAX_STARTS) throw error;
      options.log?.('a port was taken between finding and using it; starting again with others');
    }
  }
}

interface Start {
  readonly token: string;
  readonly group: ChildGroup;
}

async function startPrograms(
  options: ControlPlaneOptions,
  settings: ControlPlaneSettings,
  { token, group }: Start,
): Promise<ControlPlane> {
  const start = (name: string, args: ReadonlyArray<string>): void => {
    group.start({ name, path: join(options.assets, name), args, endBy: name === 'etcd' ? 'SIGTERM' : 'SIGKILL' });
  };
  start('etcd', etcdFlags(settings));
  start('kube-apiserver', apiServerFlags(settings));
  const url = `https://127.0.0.1:${settings.apiPort}`;
  const certificate = join(options.folder, 'certs', 'apiserver.crt');
  // The server writes its certificate in more than one step: what is read too early is not the whole of it.
  const readCa = (): string => (existsSync(certificate) ? readFileSync(certificate).toString('base64') : '');
  await waitUntil(group, 'kube-apiserver', () => isReady(renderKubeconfig({ url, token, caData: readCa() })));
  const caData = readCa();
  const kubeconfig = renderKubeconfig({ url, token, caData });
  const kubeconfigPath = join(options.folder, 'kubeconfig');
  writeFileSync(kubeconfigPath, kubeconfig, { mode: 0o600 });
  const beside = options.with ?? ['kube-controller-manager', 'kube-scheduler'];
  if (beside.includes('kube-controller-manager')) start('kube-controller-manager', controllerManagerFlags(settings));
  if (beside.includes('kube-scheduler')) start('kube-scheduler', schedulerFlags(settings));
  options.log?.(`control plane ready at ${url}`);
  return { url, kubeconfigPath, kubeconfig, token, caData, close: () => group.close() };
}

async function isReady(kubeconfig: string): Promise<boolean> {
  const connection = connect(kubeconfig);
  try {
    const stream = await connection.stream('/readyz');
    stream.resume();
    await connection.get('/api/v1/namespaces/default');
    return true;
  } catch {
    return false;
  } finally {
    connection.close();
  }
}

async function waitUntil(group: ChildGroup, name: string, done: () => Promise<boolean>): Promise<void> {
  const deadline = Date.now() + READY_MS;
  while (!(await done())) {
    group.throwIfEnded();
    if (Date.now() > deadline) {
      throw new Error(`${name} was not ready within ${READY_MS} ms; its log ends:\n${group.tail(name)}`);
    }
    await sleep(POLL_MS);
  }
}

function requireProgram(assets: string, program: string): void {
  const path = join(assets, program);
  try {
    accessSync(path, constants.X_OK);
  } catch {
    throw new Error(
      `assets: ${path} is missing or cannot be run; set KUBEBUILDER_ASSETS to a folder that holds ${programs.join(', ')}`,
    );
  }
}

/**
 * Writes the token file and the key that signs service account tokens, unless an earlier start did. Answers the token.
 */
function writeSecrets(certs: string): string {
  const tokenFile = join(certs, 'tokens.csv');
  const keyFile = join(certs, 'service-account.key');
  if (existsSync(tokenFile) && existsSync(keyFile)) return readFileSync(tokenFile, 'utf8').split(',')[0] ?? '';
  const token = randomBytes(16).toString('hex');
  writeFileSync(tokenFile, `${token},sandbox-admin,sandbox-admin,system:masters\n`, { mode: 0o600 });
  const { privateKey } = generateKeyPairSync('rsa', {
    modulusLength: 2048,
    privateKeyEncoding: { type: 'pkcs1', format: 'pem' },
    publicKeyEncoding: { type: 'spki', format: 'pem' },
  });
  writeFileSync(keyFile, privateKey, { mode: 0o600 });
  return token;
}
