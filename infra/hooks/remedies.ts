import type { Answers } from './answers.ts';
import { azureAllows } from './cluster-rights.ts';
import type { Finding } from './finding.ts';

/** Something that az can mend by itself. */
export interface Remedy {
  /** The checks that pass afterwards. */
  readonly mends: ReadonlyArray<string>;
  /** What changes, for whoever is asked whether it may; completes "This will". */
  readonly does: string;
  /** Words for az. */
  readonly args: ReadonlyArray<string>;
  readonly takesMinutes: number;
}

/** The role that makes somebody an administrator in a cluster where Azure's roles decide. */
const ADMIN = 'Azure Kubernetes Service RBAC Cluster Admin';

/** What `az aks update` switches on, by check. One update takes as long as four, so they go together. */
const SWITCHES: Readonly<Record<string, { readonly does: string; readonly flags: ReadonlyArray<string> }>> = {
  'entra-id': {
    does: 'let Microsoft Entra ID say who somebody is, and Azure’s roles what they may (users of kubectl need new credentials afterwards: az aks get-credentials)',
    flags: ['--enable-aad', '--enable-azure-rbac'],
  },
  'oidc-issuer': { does: 'switch on the OIDC issuer', flags: ['--enable-oidc-issuer'] },
  'workload-identity': { does: 'switch on workload identity', flags: ['--enable-workload-identity'] },
};

/**
 * What az can be told to mend, in order, of what was found; each is asked about once. What replaces nodes, loosens a
 * lock or needs a choice is none of it: that stays with a person. Pure.
 */
export function remediesOf(answers: Answers, findings: ReadonlyArray<Finding>): ReadonlyArray<Remedy> {
  const failed = new Set(findings.flatMap(({ check, verdict }) => (verdict === 'failed' ? [check] : [])));
  return [
    ...startOf(answers, failed),
    ...updateOf(answers, failed),
    ...adminOf(answers, failed),
    ...(failed.has('network-provider')
      ? [
          {
            mends: ['network-provider'],
            does: 'register the provider Microsoft.App in the subscription',
            args: ['provider', 'register', '--namespace', 'Microsoft.App', '--wait'],
            takesMinutes: 3,
          },
        ]
      : []),
  ];
}

function startOf({ cluster }: Answers, failed: ReadonlySet<string>): ReadonlyArray<Remedy> {
  const { provisioningState = 'Succeeded', powerState } = cluster.properties;
  // One that is being changed is waited for.
  if (!failed.has('cluster') || provisioningState !== 'Succeeded' || powerState?.code !== 'Stopped') return [];
  return [
    { mends: ['cluster'], does: 'start the cluster', args: ['aks', 'start', ...placeOf(cluster.id)], takesMinutes: 5 },
  ];
}

function updateOf({ cluster }: Answers, failed: ReadonlySet<string>): ReadonlyArray<Remedy> {
  const wanted = Object.entries(SWITCHES).filter(([check]) => failed.has(check));
  if (wanted.length === 0) return [];
  return [
    {
      mends: wanted.map(([check]) => check),
      does: `change the cluster: ${wanted.map(([, { does }]) => does).join('; ')}`,
      args: ['aks', 'update', ...placeOf(cluster.id), ...wanted.flatMap(([, { flags }]) => flags)],
      takesMinutes: 5,
    },
  ];
}

/** Where Azure's roles decide about Kubernetes, or will once Entra ID is on. */
function adminOf(
  { cluster, deployer, inCluster, permissions }: Answers,
  failed: ReadonlySet<string>,
): ReadonlyArray<Remedy> {
  const decides = cluster.properties.aadProfile?.enableAzureRBAC === true || failed.has('entra-id');
  const lacks = inCluster.kind === 'lacking' || (failed.has('entra-id') && !azureAllows(permissions.onCluster));
  if (!decides || !lacks || deployer === 'YOU') return [];
  return [
    {
      mends: ['rights-in-cluster'],
      does: `make ${deployer} an administrator in the cluster (role ${ADMIN})`,
      args: ['role', 'assignment', 'create', '--assignee', deployer, '--role', ADMIN, '--scope', cluster.id],
      takesMinutes: 1,
    },
  ];
}

function placeOf(clusterId: string): ReadonlyArray<string> {
  const [, , , , group = '', , , , name = ''] = clusterId.split('/');
  return ['--resource-group', group, '--name', name];
}

/** As one would type it. */
export function renderAz(args: ReadonlyArray<string>): string {
  return [
    'az',
    ...args.map((word) => (/^[\w./:=@%+,-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`)),
  ].join(' ');
}
