import { readArm } from '../../infra/hooks/az.ts';
import { BETWEEN } from '../../infra/hooks/in-the-cluster.ts';
import { explainRefusal } from '../../infra/hooks/explain-refusal.ts';
import { askTheCluster } from '../../infra/hooks/install-relay.ts';
import type { Health } from '../../shared/app/health.ts';
import { ASKED_WITHIN_MS, type Machine } from './machine.ts';
import { sayItHere } from './say-it-here.ts';
import { Stopped } from './stopped.ts';
import { renderOther } from './deploy-options.ts';
import type { Target } from './target/target.ts';

/** A role of an identity holds within ten minutes, and the relay starts and publishes meanwhile. */
const WORKS_WITHIN_MS = 12 * 60_000;
const LOOK_PAUSE_MS = 15_000;

/** What the app says of itself, or what keeps it from that. */
type AppLook =
  | { readonly kind: 'works'; readonly snapshotAgeMs: number | null }
  | { readonly kind: 'lacks'; readonly problems: ReadonlyArray<string> };

/**
 * Looks until the app works and has heard the relay, and then what is decided. Throws Stopped where that does not come.
 */
export async function lookUntilItWorks(target: Target, machine: Machine): Promise<void> {
  const endMs = machine.now() + WORKS_WITHIN_MS;
  let said = '';
  for (;;) {
    const app = await lookAtApp(target, machine);
    if (app.kind === 'works') {
      for (const line of [...tellApp(app), tellDecision(target, machine)]) machine.say(`  ${line}`);
      return;
    }
    const problems = app.problems.join('; ');
    if (machine.now() >= endMs) {
      throw new Stopped(
        `everything is deployed, and does not work yet: ${problems}. docs/troubleshooting.md starts from such sentences; ${renderOther('status', target.options)} looks again`,
      );
    }
    if (problems !== said) machine.say(`  waits: ${problems}`);
    said = problems;
    await machine.sleep(LOOK_PAUSE_MS);
  }
}

/** One look; returns whether it works. */
export async function lookOnce(target: Target, machine: Machine): Promise<boolean> {
  const app = await lookAtApp(target, machine);
  for (const line of tellApp(app)) machine.say(line);
  machine.say(tellDecision(target, machine));
  return app.kind === 'works';
}

function tellApp(app: AppLook): ReadonlyArray<string> {
  if (app.kind === 'lacks') return app.problems.map((problem) => `✗ ${problem}`);
  return [
    '✓ the app can do its work: it reaches Azure, the API server and its storage',
    `✓ the relay was heard ${Math.max(0, Math.round((app.snapshotAgeMs ?? 0) / 1_000))} s ago`,
  ];
}

/** As Resource Manager has them: az's own commands show apps of different plans in different forms. */
const API_VERSION = '2024-04-01';

async function lookAtApp({ environment }: Target, machine: Machine): Promise<AppLook> {
  const ask = machine.azIn(machine.root, ASKED_WITHIN_MS);
  const {
    AZURE_SUBSCRIPTION_ID: subscription = '',
    AZURE_RESOURCE_GROUP: group = '',
    FUNCTION_APP_NAME: name = '',
  } = environment;
  const path = `/subscriptions/${subscription}/resourceGroups/${group}/providers/Microsoft.Web/sites/${name}`;
  const app = ask(readArm(path, API_VERSION));
  if (app.kind !== 'answer') return lacks(explainRefusal(`read the app ${name}`, app));
  const { properties = {} } = app.value as {
    readonly properties?: { readonly state?: string; readonly defaultHostName?: string };
  };
  if (properties.state !== undefined && properties.state !== 'Running') {
    return lacks(`the app is ${properties.state}: az functionapp start --resource-group ${group} --name ${name}`);
  }
  const keys = ask(['rest', '--method', 'post', '--url', `${path}/host/default/listkeys?api-version=${API_VERSION}`]);
  if (keys.kind !== 'answer') return lacks(explainRefusal('read the key of the app', keys));
  const { functionKeys, masterKey } = keys.value as {
    readonly functionKeys?: Readonly<Record<string, string>> | null;
    readonly masterKey?: string;
  };
  const key = functionKeys?.['default'] ?? masterKey ?? '';
  return readHealth(`https://${properties.defaultHostName ?? ''}/api/health`, key, machine);
}

/** The key goes as a header: addresses end up in logs. */
async function readHealth(url: string, key: string, { get }: Machine): Promise<AppLook> {
  try {
    const { status, body } = await get(url, { 'x-functions-key': key });
    const { isReady, problems, snapshotAgeMs } = (body ?? {}) as Partial<Health>;
    if (isReady === true) return { kind: 'works', snapshotAgeMs: snapshotAgeMs ?? null };
    if (problems !== undefined && problems.length > 0) return { kind: 'lacks', problems };
    return lacks(`the app answers with ${status}: its code has not started yet, or was not deployed`);
  } catch (error) {
    return lacks(`the app does not answer (${error instanceof Error ? error.message : String(error)})`);
  }
}

function lacks(problem: string): AppLook {
  return { kind: 'lacks', problems: [sayItHere(problem)] };
}

/** What the cluster is asked, in the order in which `renderDecision` reads it. */
const QUESTIONS: ReadonlyArray<string> = [
  'kubectl get nodepools --output name',
  'kubectl get nodeclaims --output name',
  'kubectl get pods --all-namespaces --field-selector spec.nodeName=,status.phase=Pending --no-headers',
  'kubectl get events --all-namespaces --field-selector reason=FailedScheduling,source=karpenter --no-headers',
];

/** One line. Nothing of it is a failure: a cluster without a NodePool has nothing to decide. */
function tellDecision(target: Target, machine: Machine): string {
  const { CLUSTER_NAME: clusterName = '', CLUSTER_RESOURCE_GROUP: clusterResourceGroup = '' } = target.environment;
  try {
    return renderDecision(
      askTheCluster({ clusterName, clusterResourceGroup }, QUESTIONS, { ...machine, environment: target.environment }),
    );
  } catch (error) {
    return `! what is decided cannot be seen: ${sayItHere(error instanceof Error ? error.message : String(error))}`;
  }
}

/** What is decided, from the cluster's answers. Pure. */
export function renderDecision([pools = '', claims = '', pods = '', events = '']: ReadonlyArray<string>): string {
  const claimNames = namesOf(claims);
  const waiting = rowsOf(pods);
  if (claimNames.length > 0) {
    const some = claimNames.slice(0, 3).join(', ');
    return `✓ decided: ${claimNames.length} NodeClaims (${some}${claimNames.length > 3 ? ', …' : ''}), ${waiting.length} pods wait`;
  }
  if (namesOf(pools).length === 0) return '✓ nothing to decide: there is no NodePool yet';
  if (waiting.length === 0) return '✓ nothing to decide: no pod waits for a node';
  // Namespace, age, type, reason, object, and then the message.
  const refused = rowsOf(events)
    .map((row) => row.split(/\s+/))
    .find(([, , , reason]) => reason === 'FailedScheduling');
  if (refused !== undefined) {
    const [namespace = '', , , , pod = '', ...message] = refused;
    return `✓ decided: no node for ${namespace}/${pod.replace(/^pod\//, '')}: ${message.join(' ')}`;
  }
  return `! ${waiting.length} pods wait, and nothing is decided about them yet: look again in a minute`;
}

function namesOf(answer: string): ReadonlyArray<string> {
  return answer.split('\n').flatMap((line) => /^node(?:pool|claim)[\w.]*\/(\S+)$/.exec(line.trim())?.[1] ?? []);
}

function rowsOf(answer: string): ReadonlyArray<string> {
  return answer
    .split('\n')
    .map((line) => line.trim())
    .filter(
      (line) => line !== '' && line !== BETWEEN && !line.startsWith('No resources found') && !line.startsWith('error'),
    );
}
