import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import type { AzAnswer } from '../../infra/hooks/az.ts';
import { explainRefusal } from '../../infra/hooks/explain-refusal.ts';
import type { DeployOptions } from './deploy-options.ts';
import { isUnderWay, readRecord, recordName, toRecord } from './target/deployment-record.ts';
import type { Machine } from './machine.ts';
import { keptParameters } from './target/choices.ts';
import { type ParameterFile, fillParameters, readTemplate } from './target/parameters.ts';
import { isReleased, readPublished } from './target/published.ts';
import { sayItHere } from './say-it-here.ts';
import { Stopped } from './stopped.ts';
import type { Target } from './target/target.ts';

/** Deploys the template, and returns the target with its outputs. Throws Stopped that says what Azure refused. */
export function makeInfrastructure(target: Target, machine: Machine): Target {
  const { root, azIn, say } = machine;
  const ask = azIn(root);
  const { options, environment } = target;
  say(
    `  ${environment['AZURE_LOCATION']}; portal: Subscriptions, Deployments, ${recordName(options.name)} shows how far it is`,
  );
  const answer = withParameters(target, machine, (words) => ask(['deployment', 'sub', 'create', ...words]));
  if (answer.kind !== 'answer') throw new Stopped(whyRefused(answer, target, machine));
  const record = toRecord(recordName(options.name), answer.value);
  if (record.state !== 'Succeeded') throw new Stopped(`Azure has ended ${record.name} as ${record.state}`);
  return { ...target, record, environment: { ...environment, ...record.outputs } };
}

function whyRefused(answer: Exclude<AzAnswer, { readonly kind: 'answer' }>, target: Target, machine: Machine): string {
  const { options } = target;
  const record = readAgain(target, machine);
  if (
    (answer.kind === 'refused' && /DeploymentActive/.test(answer.message)) ||
    (record !== null && isUnderWay(record))
  ) {
    return `Azure is at work on ${recordName(options.name)}, for this command or somebody else's: wait for it with az deployment sub wait --name ${recordName(options.name)} --created`;
  }
  // Faults of an earlier deployment say nothing about one that Azure has not even begun.
  if (record !== null && record.at !== target.record?.at && record.faults.length > 0) {
    return renderFaults(record.faults, options);
  }
  return sayItHere(explainRefusal('deploy the infrastructure', answer));
}

/** What Azure keeps of a deployment that was refused; null where that cannot be read either. */
function readAgain({ options }: Target, { azIn, root }: Machine): ReturnType<typeof readRecord> {
  try {
    return readRecord(azIn(root), options.name);
  } catch {
    return null;
  }
}

/** More than this is one cause, told many times. */
const FAULTS_SHOWN = 3;

function renderFaults(faults: ReadonlyArray<string>, { name }: DeployOptions): string {
  const more = faults.length - FAULTS_SHOWN;
  return [
    `Azure has not made all of it: ${faults.slice(0, FAULTS_SHOWN).join('; ')}${more > 0 ? `; and ${more} more` : ''}`,
    `  all of it: az deployment operation sub list --name ${recordName(name)} --query "[?properties.provisioningState=='Failed'].properties.statusMessage.error"`,
  ].join('\n');
}

/** Runs az with the template and a file of its parameters, which is gone afterwards. */
export function withParameters<T>(
  target: Target,
  machine: Pick<Machine, 'root' | 'folder'>,
  run: (words: ReadonlyArray<string>) => T,
): T {
  const { options, environment } = target;
  const { file: template } = readTemplate(machine.root);
  const filled = parametersOf(target, machine);
  const folder = mkdtempSync(join(tmpdir(), 'nodewright-parameters-'));
  try {
    const file = join(folder, 'parameters.json');
    writeFileSync(file, JSON.stringify(filled, null, 2));
    const place = ['--name', recordName(options.name), '--location', environment['AZURE_LOCATION'] ?? ''];
    return run([...place, '--template-file', template, '--parameters', `@${file}`, ...ownParameters(options, machine)]);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/**
 * The parameters of the template: what is said, found, and chosen before. Throws Stopped that names the variable which
 * does not fit.
 */
export function parametersOf({ environment, choices }: Target, { root }: Pick<Machine, 'root'>): ParameterFile {
  const azdParameters = readFileSync(join(root, 'infra/main.parameters.json'), 'utf8');
  const { NODEWRIGHT_RELAY_IMAGE: image = '' } = environment;
  // That of a release is no choice to be kept.
  const said = isReleased(image, readPublished(root)) ? { ...environment, NODEWRIGHT_RELAY_IMAGE: '' } : environment;
  return fillParameters(azdParameters, readTemplate(root), said, keptParameters(azdParameters, choices.parameters));
}

/** az takes what it is given last. */
function ownParameters({ parameters }: DeployOptions, { folder }: Pick<Machine, 'folder'>): ReadonlyArray<string> {
  return parameters === null ? [] : ['--parameters', `@${resolve(folder, parameters)}`];
}
