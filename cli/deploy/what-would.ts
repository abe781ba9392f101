import type { Answers } from '../../infra/hooks/answers.ts';
import { explainRefusal } from '../../infra/hooks/explain-refusal.ts';
import { architectureOf, tellForeign } from '../../infra/hooks/in-the-cluster.ts';
import { lookAtChart, tellKept } from '../../infra/hooks/install-relay.ts';
import { ownValues } from '../../infra/hooks/relay-commands.ts';
import { withParameters } from './infrastructure.ts';
import type { Machine } from './machine.ts';
import { sayItHere } from './say-it-here.ts';
import type { Steps } from './steps.ts';
import { Stopped } from './stopped.ts';
import type { Target } from './target/target.ts';

/** What `deploy` would do after the preflight, step by step. Asks Azure and the cluster, and changes nothing. */
export async function whatWould(
  target: Target,
  {
    answers,
    zip,
    steps,
    machine,
  }: { readonly answers: Answers; readonly zip: string; readonly steps: Steps; readonly machine: Machine },
): Promise<void> {
  const { environment, options } = target;
  const { say } = machine;
  const app = environment['FUNCTION_APP_NAME'] ?? 'the app that is made';
  await steps.run('the app’s code is packed', 'some 10 s', () => {
    say(options.appZip === null ? `  would write ${zip}` : `  ${zip} is packed already`);
  });
  await steps.run('infrastructure', 'some 8 min', () => {
    for (const line of whatIf(target, machine)) say(`  ${line}`);
  });
  await steps.run('the relay, rights and custom resources in the cluster', 'some 5 min', () => {
    for (const line of chartWould(target, answers, machine)) say(`  ${line}`);
  });
  await steps.run('the app’s code is sent', 'some 2 min', () => {
    say(`  would send ${zip} to ${app}, which restarts`);
  });
  await steps.run('a first look', 'up to 12 min, as rights take a while to hold', () => {
    say('  would ask the app for its health, whether it has heard the relay, and the cluster what is decided');
  });
  say('\nNothing was changed.');
}

interface Change {
  readonly changeType: string;
  readonly resourceId: string;
}

/** What Azure itself says that it would change. */
function whatIf(target: Target, machine: Machine): ReadonlyArray<string> {
  const answer = withParameters(target, machine, (words) =>
    machine.azIn(machine.root)(['deployment', 'sub', 'what-if', ...words, '--no-pretty-print']),
  );
  if (answer.kind !== 'answer') {
    throw new Stopped(sayItHere(explainRefusal('ask Azure what the template would change', answer)));
  }
  const { changes } = (answer.value ?? {}) as { readonly changes?: ReadonlyArray<Change> | null };
  return renderChanges(changes ?? []);
}

/** Those of each sort by their types, with how many; what stays as it is in one number. Pure. */
export function renderChanges(changes: ReadonlyArray<Change>): ReadonlyArray<string> {
  const words: Readonly<Record<string, string>> = {
    Create: 'would make',
    Modify: 'would change',
    Delete: 'would delete',
    Deploy: 'would deploy',
    Unsupported: 'cannot say beforehand of',
  };
  const lines = Object.entries(words).flatMap(([kind, would]) => {
    const types = changes.flatMap(({ changeType, resourceId }) => (changeType === kind ? [typeOf(resourceId)] : []));
    if (types.length === 0) return [];
    const counted = [...Map.groupBy(types, (type) => type)].map(([type, all]) =>
      all.length === 1 ? type : `${type} ×${all.length}`,
    );
    return [`${would} ${types.length}: ${counted.toSorted().join(', ')}`];
  });
  const same = changes.filter(({ changeType }) => !(changeType in words)).length;
  return [...lines, ...(same > 0 ? [`${same} stay as they are`] : []), ...(changes.length === 0 ? ['nothing'] : [])];
}

/** `storageAccounts/blobServices` of `…/providers/Microsoft.Storage/storageAccounts/x/blobServices/default`. */
function typeOf(resourceId: string): string {
  const own = resourceId.split('/providers/').at(-1) ?? '';
  if (!resourceId.includes('/providers/')) return 'resourceGroups';
  return own
    .split('/')
    .slice(1)
    .filter((_, index) => index % 2 === 0)
    .join('/');
}

function chartWould(target: Target, answers: Answers, machine: Machine): ReadonlyArray<string> {
  const { relayImage, namespace } = answers.wishes;
  const build =
    relayImage === '' ? 'would build the relay’s image in the registry' : `would take the image ${relayImage}`;
  const relayNamespace = namespace === '' ? 'nodewright-system' : namespace;
  const install = `would install the chart (helm upgrade --install) in namespace ${relayNamespace}`;
  const { inCluster, cluster } = answers;
  if (inCluster.kind !== 'allowed') return [build, install, '! the cluster was not asked what it has'];
  const [, , , , clusterResourceGroup = '', , , , clusterName = ''] = cluster.id.split('/');
  const place = { clusterName, clusterResourceGroup, relayNamespace };
  const { cluster: found, values } = lookAtChart(place, { ...machine, environment: target.environment }, 'kept');
  const architecture = relayImage === '' ? architectureOf(found) : '';
  const crds =
    found.foreign.length > 0
      ? []
      : [`would make ${found.missing.length} custom resource definitions that the cluster does not have`];
  return [
    build,
    install,
    ...tellKept(ownValues(values, { architecture, cluster: found })),
    ...crds,
    ...tellForeign(found),
  ];
}
