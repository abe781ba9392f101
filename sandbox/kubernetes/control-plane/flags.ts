import { join } from 'node:path';

/** What the flags of a control plane's programs depend on. */
export interface ControlPlaneSettings {
  readonly folder: string;
  readonly etcdPort: number;
  readonly apiPort: number;
  /** The authority that certificates of kubelets are signed with; null: nobody signs them. */
  readonly signer: Signer | null;
  /** How long a node may be silent before it counts as lost; Kubernetes' default is 50 s. */
  readonly nodeGraceMs: number;
}

/** A certificate authority: paths of PEM files. */
export interface Signer {
  readonly certPath: string;
  readonly keyPath: string;
}

/** Flags of etcd: data that may be lost on power failure, which a throw-away cluster does not mind. */
export function etcdFlags({ folder, etcdPort }: ControlPlaneSettings): ReadonlyArray<string> {
  const url = `http://127.0.0.1:${etcdPort}`;
  return [
    `--data-dir=${join(folder, 'etcd')}`,
    `--listen-client-urls=${url}`,
    `--advertise-client-urls=${url}`,
    '--listen-peer-urls=http://127.0.0.1:0',
    '--unsafe-no-fsync=true',
    '--log-level=warn',
    // A day of a large simulated cluster fits; the default of 2 GiB does not.
    `--quota-backend-bytes=${8 * 1024 ** 3}`,
  ];
}

/** Flags of the API server: all default admission but ServiceAccount, whose controller would have to come first. */
export function apiServerFlags({ folder, etcdPort, apiPort, signer }: ControlPlaneSettings): ReadonlyArray<string> {
  const certs = join(folder, 'certs');
  return [
    `--etcd-servers=http://127.0.0.1:${etcdPort}`,
    '--bind-address=127.0.0.1',
    // Told, as a machine that is on no network has no default route by which to find it.
    '--advertise-address=127.0.0.1',
    `--secure-port=${apiPort}`,
    `--cert-dir=${certs}`,
    `--token-auth-file=${join(certs, 'tokens.csv')}`,
    ...(signer === null
      ? ['--authorization-mode=RBAC']
      : [
          '--authorization-mode=Node,RBAC',
          '--enable-admission-plugins=NodeRestriction',
          `--client-ca-file=${signer.certPath}`,
        ]),
    '--disable-admission-plugins=ServiceAccount',
    '--service-cluster-ip-range=10.0.0.0/16',
    '--service-account-issuer=https://kubernetes.default.svc.cluster.local',
    `--service-account-key-file=${join(certs, 'service-account.key')}`,
    `--service-account-signing-key-file=${join(certs, 'service-account.key')}`,
    '--enable-bootstrap-token-auth=true',
    '--endpoint-reconciler-type=none',
    '--allow-privileged=true',
    '--profiling=false',
  ];
}

/** Of clouds, which a sandbox is not. */
const UNUSED = ['-service-lb-controller', '-node-route-controller', '-cloud-node-lifecycle-controller'];

/** Flags of the controller manager: client limits raised, as the stock 20/30 make pod creation the bottleneck. */
export function controllerManagerFlags(settings: ControlPlaneSettings): ReadonlyArray<string> {
  const { folder, nodeGraceMs, signer } = settings;
  const without = signer === null ? [...UNUSED, '-certificatesigningrequest-signing-controller'] : UNUSED;
  return [
    ...clientFlags(folder),
    `--controllers=${['*', 'token-cleaner-controller', ...without].join(',')}`,
    ...(signer === null
      ? []
      : [`--cluster-signing-cert-file=${signer.certPath}`, `--cluster-signing-key-file=${signer.keyPath}`]),
    `--service-account-private-key-file=${join(folder, 'certs', 'service-account.key')}`,
    `--root-ca-file=${join(folder, 'certs', 'apiserver.crt')}`,
    `--node-monitor-grace-period=${nodeGraceMs}ms`,
    `--node-monitor-period=${Math.min(5_000, Math.ceil(nodeGraceMs / 4))}ms`,
  ];
}

/** Flags of the scheduler: its default profile. */
export function schedulerFlags({ folder }: ControlPlaneSettings): ReadonlyArray<string> {
  return clientFlags(folder);
}

function clientFlags(folder: string): ReadonlyArray<string> {
  const kubeconfig = join(folder, 'kubeconfig');
  return [
    `--kubeconfig=${kubeconfig}`,
    `--authentication-kubeconfig=${kubeconfig}`,
    `--authorization-kubeconfig=${kubeconfig}`,
    '--leader-elect=false',
    '--secure-port=0',
    '--kube-api-qps=1000',
    '--kube-api-burst=2000',
    '--profiling=false',
  ];
}
