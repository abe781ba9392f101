import type { Ask, AzAnswer } from './az.ts';
import { explainRefusal } from './explain-refusal.ts';
import { outside, type OutputOf, removalOutputs } from './outside.ts';
import { invokeCommand } from './relay-commands.ts';

/** Nodes are drained under PodDisruptionBudgets; longer than that, something holds them, and a person has to look. */
const NODES_GONE_WITHIN_MS = 30 * 60_000;
/** Without NodeClaims a node class is let go at the next sweep, a minute at most. */
const CLASSES_GONE_WITHIN_MS = 5 * 60_000;
/** Each look starts a pod in the cluster. */
const LOOK_PAUSE_MS = 15_000;

/** How it is told, and how time passes. */
export interface Removing {
  readonly ask: Ask;
  readonly say: (line: string) => void;
  readonly now: () => number;
  readonly sleep: (ms: number) => void;
}

/**
 * Removes a deployment: its nodes first, while the app is there to remove them, then the chart, what is outside the
 * resource group, and the group. What is in the cluster is done by commands through Azure, so that it is this cluster
 * whatever kubectl has chosen. Throws an Error at the first step that fails; what is gone already is no failure, so it
 * can be repeated.
 */
export function remove(environment: Readonly<Record<string, string | undefined>>, removing: Removing): void {
  const unknown = removalOutputs.filter((name) => environment[name] === undefined);
  if (unknown.length > 0) {
    throw new Error(
      `${unknown.join(', ')} is not set: these are outputs of the deployment; run it in the folder of azd's environment, or after eval "$(npm run --silent outputs -- DEPLOYMENT)"`,
    );
  }
  const of: OutputOf = (name) => environment[name] ?? '';
  const inCluster = (command: string): string => runInCluster(of, command, removing);
  removing.say('▸ the nodes: their pods move to other nodes');
  inCluster('kubectl delete nodepools --all --wait=false');
  waitUntilGone('nodepools,nodeclaims', NODES_GONE_WITHIN_MS, { ...removing, inCluster });
  removing.say('▸ the node classes');
  inCluster('kubectl delete aksnodeclasses --all --wait=false');
  waitUntilGone('aksnodeclasses', CLASSES_GONE_WITHIN_MS, { ...removing, inCluster });
  removing.say('▸ the chart');
  inCluster(`helm uninstall nodewright --ignore-not-found --namespace ${of('RELAY_NAMESPACE')}`);
  for (const { what, commands } of outside) {
    const own = commands(of);
    if (own.length > 0) removing.say(`▸ ${what}`);
    for (const command of own) runAz(command, removing);
  }
  removing.say(`▸ the resource group ${of('AZURE_RESOURCE_GROUP')}`);
  runAz(`az group delete --yes --name ${of('AZURE_RESOURCE_GROUP')}`, removing);
}

function runInCluster(of: OutputOf, command: string, { ask }: Removing): string {
  const cluster = { clusterResourceGroup: of('CLUSTER_RESOURCE_GROUP'), clusterName: of('CLUSTER_NAME') };
  const answer = ask(invokeCommand(cluster, command, { withFiles: false }));
  if (answer.kind !== 'answer')
    throw new Error(explainRefusal(`run "${command}" in the cluster through Azure`, answer));
  const { exitCode, logs } = answer.value as { readonly exitCode: number; readonly logs: string };
  // Custom resources that are not there have no objects either.
  if (exitCode !== 0 && !/doesn't have a resource type/.test(logs)) {
    throw new Error(`"${command}" ended with ${exitCode} in the cluster: ${logs.trim()}`);
  }
  return logs;
}

function waitUntilGone(
  kinds: string,
  withinMs: number,
  { inCluster, say, now, sleep }: Removing & { readonly inCluster: (command: string) => string },
): void {
  const endMs = now() + withinMs;
  for (;;) {
    const left = inCluster(`kubectl get ${kinds} --output name`)
      .split('\n')
      .filter((line) => /^[\w.]+\/\S+$/.test(line.trim()));
    if (left.length === 0) return;
    if (now() >= endMs) {
      throw new Error(
        `${left.join(', ')} is still there after ${withinMs / 60_000} minutes: kubectl describe says what holds it. Nothing else was removed; run it again when it is gone`,
      );
    }
    say(`  waits for ${left.length}: ${left.slice(0, 3).join(', ')}${left.length > 3 ? ', …' : ''}`);
    sleep(LOOK_PAUSE_MS);
  }
}

/** What az says of something that is not there; a subscription that is not seen is something else. */
const GONE = /NotFound|was not found|could not be found|No matched|does(n't| not) exist/i;
const UNSEEN = /SubscriptionNotFound|InvalidSubscriptionId|exist in cloud/i;

function runAz(command: string, { ask, say }: Removing): void {
  say(`  ${command}`);
  const look = (): AzAnswer => ask(wordsOf(command).slice(1));
  const first = look();
  // A copy of Azure's that lags behind may not know what is there, and nobody would remember it afterwards.
  const answer = isGone(first) ? look() : first;
  if (answer.kind === 'answer' || isGone(answer)) return;
  throw new Error(explainRefusal(`run "${command}"`, answer));
}

function isGone(answer: AzAnswer): boolean {
  return answer.kind === 'refused' && GONE.test(answer.message) && !UNSEEN.test(answer.message);
}

/** A command's words; those in quotes hold together. */
export function wordsOf(command: string): ReadonlyArray<string> {
  return [...command.matchAll(/"([^"]*)"|(\S+)/g)].map(([, inQuotes, plain]) => inQuotes ?? plain ?? '');
}
