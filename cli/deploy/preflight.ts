import { resolve } from 'node:path';
import { type Answers, gatherAnswers, readWishes } from '../../infra/hooks/answers.ts';
import { judge } from '../../infra/hooks/checks.ts';
import { explainRefusal } from '../../infra/hooks/explain-refusal.ts';
import type { Finding } from '../../infra/hooks/finding.ts';
import { type Remedy, remediesOf, renderAz } from '../../infra/hooks/remedies.ts';
import { renderFindings } from '../../infra/hooks/render-findings.ts';
import { ASKED_WITHIN_MS, type Machine } from './machine.ts';
import { sayItHere } from './say-it-here.ts';
import { Stopped } from './stopped.ts';
import { type Target, othersOn } from './target/target.ts';

/** Azure's roles hold within five minutes, by its own word; twice that is no matter of patience any more. */
const MENDED_WITHIN_MS = 10 * 60_000;
/** Each look asks the cluster, too. */
const LOOK_PAUSE_MS = 20_000;

interface Look {
  readonly answers: Answers;
  readonly findings: ReadonlyArray<Finding>;
}

/**
 * Checks the requirements of a deployment, and offers to fix what az can: each remedy is asked about once, and none
 * where something is left that only a person can fix. Throws Stopped where it cannot continue.
 */
export async function preflight(target: Target, machine: Machine): Promise<Answers> {
  const first = look(target, machine);
  tell(first, target, machine);
  const { remedies, others } = toMend(first);
  if (remedies.length === 0 && others.length === 0) return first.answers;
  if (target.options.isDry) {
    for (const remedy of remedies) {
      machine.say(`  would ask, and then ${remedy.does} (some ${remedy.takesMinutes} min):`);
      machine.say(`    ${renderAz(remedy.args)}`);
    }
    throwOthers(others, first);
    return first.answers;
  }
  throwOthers(others, first);
  await agree(remedies, target, machine);
  for (const remedy of remedies) carryOut(remedy, machine);
  return lookUntilMended(target, machine);
}

function look({ environment }: Target, { azIn, root, isFile }: Machine): Look {
  const wishes = readWishes(environment);
  try {
    const answers = gatherAnswers(azIn(root, ASKED_WITHIN_MS), wishes, (path) => isFile(resolve(root, path)));
    return { answers, findings: judge(answers) };
  } catch (error) {
    throw new Stopped(sayItHere(error instanceof Error ? error.message : String(error)));
  }
}

/** What is in order in one line, what is not with the fix. */
function tell({ answers, findings }: Look, target: Target, machine: Machine): void {
  const passed = findings.filter(({ verdict }) => verdict === 'passed').length;
  machine.say(`  ✓ ${passed} of ${findings.length} checks passed`);
  // What can be offered is told in full where it is offered.
  const offered = new Set(remediesOf(answers, findings).flatMap(({ mends }) => mends));
  for (const finding of findings.filter(({ verdict }) => verdict !== 'passed')) {
    const lines = renderFindings([finding], target.options.cluster).slice(
      0,
      offered.has(finding.check) ? 1 : undefined,
    );
    for (const line of lines) machine.say(`  ${sayItHere(line)}`);
  }
  const { cluster } = answers;
  const group = `${cluster.id.split('/').slice(0, 3).join('/')}/resourceGroups/${cluster.properties.nodeResourceGroup}`;
  const others = othersOn(group, target, machine.azIn(machine.root, ASKED_WITHIN_MS));
  if (others.length === 0) return;
  throw new Stopped(
    `Nodewright is deployed for this cluster already, as ${others.join(', ')}, and two would make nodes for the same pods: --name ${others[0]} continues with that one (what was chosen there and azd or a file keeps is to be said again); or remove it first`,
  );
}

/** What az can fix, and the failed checks that it cannot. */
function toMend({ answers, findings }: Look): {
  readonly remedies: ReadonlyArray<Remedy>;
  readonly others: ReadonlyArray<string>;
} {
  const remedies = remediesOf(answers, findings);
  const mended = new Set(remedies.flatMap(({ mends }) => mends));
  const failed = findings.flatMap(({ check, verdict }) => (verdict === 'failed' ? [check] : []));
  return { remedies, others: failed.filter((check) => !mended.has(check)) };
}

function throwOthers(others: ReadonlyArray<string>, { findings }: Look): void {
  if (others.length === 0) return;
  throw new Stopped(
    `${others.join(', ')} ${others.length === 1 ? 'has' : 'have'} to be fixed by hand: the lines above say how (${others.length} of ${findings.length} checks). Nothing was deployed`,
  );
}

async function agree(remedies: ReadonlyArray<Remedy>, { options }: Target, machine: Machine): Promise<void> {
  for (const { does, args, takesMinutes } of remedies) {
    machine.say(`\n  This will ${does}. It takes some ${takesMinutes} min:`);
    machine.say(`    ${renderAz(args)}`);
    if (options.isYes) continue;
    if (machine.confirm === null) {
      throw new Stopped('nobody is there to be asked: type the same with --yes, or type the command above', 2);
    }
    if (!(await machine.confirm('  Do it?'))) {
      throw new Stopped(
        'nothing was changed: type the same again when you have decided, or have typed the command above',
      );
    }
  }
}

function carryOut({ args }: Remedy, machine: Machine): void {
  const startedMs = machine.now();
  const answer = machine.azIn(machine.root)(args);
  const [command = ''] = renderAz(args).split(' --');
  if (answer.kind === 'answer') {
    machine.say(`  ✓ ${command} (${Math.round((machine.now() - startedMs) / 1_000)} s)`);
    return;
  }
  // Given by somebody else meanwhile, or by the same command before.
  if (answer.kind === 'refused' && /RoleAssignmentExists/.test(answer.message)) return;
  throw new Stopped(sayItHere(explainRefusal(`run ${command}`, answer)));
}

/** Azure's roles take a while to hold. */
async function lookUntilMended(target: Target, machine: Machine): Promise<Answers> {
  const endMs = machine.now() + MENDED_WITHIN_MS;
  for (;;) {
    const again = look(target, machine);
    const failed = again.findings.flatMap(({ check, verdict }) => (verdict === 'failed' ? [check] : []));
    if (failed.length === 0 || machine.now() >= endMs) {
      tell(again, target, machine);
      throwOthers(failed, again);
      return again.answers;
    }
    machine.say(`  waits for ${failed.join(', ')}`);
    await machine.sleep(LOOK_PAUSE_MS);
  }
}
