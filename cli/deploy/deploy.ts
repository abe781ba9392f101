import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import type { Answers } from '../../infra/hooks/answers.ts';
import { explainRefusal } from '../../infra/hooks/explain-refusal.ts';
import { fillIn } from '../../infra/hooks/fill-in.ts';
import { installRelay } from '../../infra/hooks/install-relay.ts';
import { nextSteps, readDeployed } from '../../infra/hooks/relay-commands.ts';
import type { DeployOptions } from './deploy-options.ts';
import { lookUntilItWorks } from './first-look.ts';
import { makeInfrastructure, parametersOf } from './infrastructure.ts';
import { type Machine, pathToType } from './machine.ts';
import { preflight } from './preflight.ts';
import { recordName } from './target/deployment-record.ts';
import { sayItHere } from './say-it-here.ts';
import { type Steps, stepsOf } from './steps.ts';
import { Stopped } from './stopped.ts';
import { type Target, openTarget } from './target/target.ts';
import { whatWould } from './what-would.ts';

const STEPS = 6;

/**
 * Deploys, or with `--dry-run` says what that would change. Each step can be repeated. Throws Stopped where it cannot
 * go on.
 */
export async function deploy(options: DeployOptions, machine: Machine): Promise<void> {
  const target = openTarget(options, machine);
  if (options.kind === 'upgrade' && target.record === null) {
    throw new Stopped(
      `nothing is deployed as ${recordName(options.name)}: deploy it with nodewright deploy --cluster ${options.cluster}, or give the --name that it was deployed with`,
    );
  }
  const zip = zipOf(options, machine);
  checkVariables(target, machine);
  const { record } = target;
  machine.say(
    `Nodewright for ${options.cluster.split('/').at(-1)}, deployment ${recordName(options.name)}: ${
      record === null ? 'new' : `there since ${record.at} (${record.state}); what is the same stays`
    }${options.isDry ? '. Nothing is changed (--dry-run)' : ''}`,
  );
  for (const line of target.kept) machine.say(`  ${line}`);
  const steps = stepsOf(STEPS, { options, machine });
  const answers = await steps.run('what it takes', 'some 1 min', () => preflight(target, machine));
  const ready = withFound(target, answers, machine);
  if (options.isDry) await whatWould(ready, { answers, zip, steps, machine });
  else await carryOut(ready, { zip, steps, machine });
}

async function carryOut(
  target: Target,
  { zip, steps, machine }: { readonly zip: string; readonly steps: Steps; readonly machine: Machine },
): Promise<void> {
  await steps.run('the app’s code is packed', 'some 10 s', () => pack(target.options, zip, machine));
  const deployed = await steps.run('infrastructure', 'some 8 min', () => makeInfrastructure(target, machine));
  await steps.run('the relay, rights and custom resources in the cluster', 'some 5 min', () =>
    installRelay({ ...machine, environment: deployed.environment }, 'kept'),
  );
  await steps.run('the app’s code is sent', 'some 2 min', () => sendCode(deployed, zip, machine));
  await steps.run('a first look', 'up to 12 min, as rights take a while to hold', () =>
    lookUntilItWorks(deployed, machine),
  );
  const examples = pathToType(machine, 'examples');
  for (const line of nextSteps(readDeployed(deployed.environment), examples)) machine.say(line);
}

function zipOf({ appZip }: DeployOptions, { root, folder, isFile }: Machine): string {
  if (appZip === null) return join(root, 'dist/app.zip');
  const file = resolve(folder, appZip);
  if (isFile(file)) return file;
  throw new Stopped(`--app-zip: ${appZip} does not exist: name a file, or leave it out and it is packed here`, 2);
}

/** Nobody else would find out before much is done. */
function checkVariables(target: Target, { root, folder, isFile }: Machine): void {
  const { environment, options } = target;
  // What the preflight finds does not matter yet.
  const found = { NODEWRIGHT_NODE_SUBNET_ID: 'found', AZURE_LOCATION: 'found' };
  parametersOf({ ...target, environment: { ...environment, ...found } }, { root });
  if (options.parameters !== null && !isFile(resolve(folder, options.parameters))) {
    throw new Stopped(`--parameters: ${options.parameters} does not exist: name a file, as az takes it`, 2);
  }
  const { NODEWRIGHT_CREATE_REGISTRY: creates, NODEWRIGHT_RELAY_IMAGE: image = '' } = environment;
  if (image === '' && !existsSync(join(root, 'relay/Dockerfile'))) {
    throw new Stopped(
      'this package names no image of the relay, and has none to build: set the variable NODEWRIGHT_RELAY_IMAGE to REGISTRY/nodewright-relay:TAG, or deploy from a checkout',
      2,
    );
  }
  if (creates !== 'false' || image !== '') return;
  throw new Stopped(
    'NODEWRIGHT_CREATE_REGISTRY is false, and NODEWRIGHT_RELAY_IMAGE names no image: set the variable NODEWRIGHT_RELAY_IMAGE to REGISTRY/nodewright-relay:TAG',
    2,
  );
}

/** What the preflight found, where nobody said it. */
function withFound(target: Target, answers: Answers, { makeKey }: Machine): Target {
  const found = fillIn(answers, makeKey);
  const location = target.environment['AZURE_LOCATION'];
  return {
    ...target,
    environment: {
      ...target.environment,
      ...found,
      AZURE_LOCATION: location === undefined || location === '' ? answers.cluster.location : location,
    },
  };
}

function pack({ appZip }: DeployOptions, zip: string, { root, run, say, isFile }: Machine): void {
  if (appZip !== null) say(`  ${zip} is packed already`);
  else if (isFile(join(root, 'scripts/pack.ts'))) run('npm', ['run', '--silent', 'pack'], root);
  else if (!isFile(zip)) throw new Stopped(`${zip} does not exist, and nothing can pack it: give --app-zip FILE`);
}

function sendCode({ environment }: Target, zip: string, { azIn, root, say }: Machine): void {
  const { AZURE_RESOURCE_GROUP: group = '', FUNCTION_APP_NAME: name = '' } = environment;
  const place = ['--resource-group', group, '--name', name];
  const answer = azIn(root)(['functionapp', 'deployment', 'source', 'config-zip', ...place, '--src', zip]);
  if (answer.kind !== 'answer') {
    throw new Stopped(sayItHere(explainRefusal(`send the code to ${name}`, answer)));
  }
  say(`  ${name} has it`);
}
