import type { Ask } from '../../infra/hooks/az.ts';
import { explainRefusal } from '../../infra/hooks/explain-refusal.ts';
import { remove } from '../../infra/hooks/remove.ts';
import { renderRemoval } from '../../infra/hooks/render-removal.ts';
import type { DeployOptions } from './deploy-options.ts';
import { type Known, knownOutputs } from './target/known-outputs.ts';
import { type Machine, pathToType } from './machine.ts';
import { sayItHere } from './say-it-here.ts';
import { stepsOf } from './steps.ts';
import { Stopped } from './stopped.ts';
import { openTarget } from './target/target.ts';

/** Removes a deployment, or with `--dry-run` says what removes it. Throws Stopped where it cannot go on. */
export async function uninstall(options: DeployOptions, machine: Machine): Promise<void> {
  const { record } = openTarget(options, machine);
  if (record === null) {
    throw new Stopped(
      `nothing is deployed for this cluster under the name ${options.name}. What azd has deployed, npm run removal -- --yes removes in the folder of its environment`,
    );
  }
  const ask = machine.azIn(machine.root);
  const known = knownOutputs(options, record, ask);
  const { say } = machine;
  if (options.isDry) {
    for (const line of commandsOf(known)) say(line);
    say('\nNothing was changed.');
    return;
  }
  say(renderLoss(known, options));
  await agree(options, machine);
  const steps = stepsOf(2, { options, machine });
  await steps.run('nodes, chart, rights and the resource group', 'some 15 min', () => {
    if (known.kind === 'group') deleteGroup(known.group, ask);
    else remove(known.outputs, { ask, say: (line) => say(`  ${line}`), now: machine.now, sleep: machine.hold });
  });
  // Last, as what came before reads from it when it is repeated.
  await steps.run('what Azure remembers of the deployment', 'some 10 s', () => {
    const answer = ask(['deployment', 'sub', 'delete', '--name', record.name]);
    if (answer.kind !== 'answer') throw new Stopped(sayItHere(explainRefusal(`forget ${record.name}`, answer)));
  });
  const definitions = pathToType(machine, 'infra/chart/definitions');
  say(`\nNodewright is removed. Its custom resources stay in the cluster: kubectl delete -f ${definitions}.`);
}

function commandsOf(known: Known): ReadonlyArray<string> {
  return known.kind === 'all' ? renderRemoval(known.outputs) : [`az group delete --name ${known.group}`];
}

/** What whoever agrees has to know. */
function renderLoss(known: Known, { cluster }: DeployOptions): string {
  if (known.kind === 'group') return `This removes the resource group ${known.group}; nothing else was made.`;
  return `This removes every NodePool, NodeClaim and AKSNodeClass of ${cluster.split('/').at(-1)} with their nodes, the relay and its rights, and the resource group ${known.outputs['AZURE_RESOURCE_GROUP']}. The cluster and its own node pools stay.`;
}

async function agree({ isYes }: DeployOptions, { confirm }: Machine): Promise<void> {
  if (isYes) return;
  if (confirm === null) throw new Stopped('nobody is there to be asked: type the same with --yes', 2);
  if (!(await confirm('Remove it?'))) throw new Stopped('nothing was changed');
}

function deleteGroup(group: string, ask: Ask): void {
  const answer = ask(['group', 'delete', '--yes', '--name', group]);
  if (answer.kind === 'answer') return;
  if (answer.kind === 'refused' && /ResourceGroupNotFound|could not be found/.test(answer.message)) return;
  throw new Stopped(sayItHere(explainRefusal(`remove the resource group ${group}`, answer)));
}
