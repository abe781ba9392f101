import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { locate } from '../../../infra/hooks/answers.ts';
import type { Ask } from '../../../infra/hooks/az.ts';
import { explainRefusal } from '../../../infra/hooks/explain-refusal.ts';
import { type DeployOptions, renderOther } from '../deploy-options.ts';
import { ASKED_WITHIN_MS, type Machine } from '../machine.ts';
import { type Choices, NO_CHOICES, readChoices, renderKept } from './choices.ts';
import { readPublished } from './published.ts';
import { type DeploymentRecord, isUnderWay, readRecord } from './deployment-record.ts';
import { sayItHere } from '../say-it-here.ts';
import { Stopped } from '../stopped.ts';

/** What a command works on. */
export interface Target {
  readonly options: DeployOptions;
  /** What Azure keeps of the last deployment; null: there was none. */
  readonly record: DeploymentRecord | null;
  /**
   * What the hooks read: as azd would hand it on. What is said now comes before what was said in an earlier deployment.
   */
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** What was chosen in an earlier deployment; none where the command makes no new one. */
  readonly choices: Choices;
  /** A line for each of these that holds now. */
  readonly kept: ReadonlyArray<string>;
}

/**
 * The first az that takes rights away by an object id alone; one with Flex Consumption, the plan of the app, is older.
 */
const AZ_MINIMUM = [2, 68] as const;

/**
 * Looks whether az works at all, is logged in where the cluster is, and what is deployed. Changes nothing. Throws
 * Stopped.
 */
export function openTarget(options: DeployOptions, machine: Machine): Target {
  const ask = machine.azIn(machine.root, ASKED_WITHIN_MS);
  checkVersion(ask);
  try {
    locate(ask, { clusterId: options.cluster });
  } catch (error) {
    throw new Stopped(sayItHere(error instanceof Error ? error.message : String(error)), 2);
  }
  const record = readRecord(ask, options.name);
  if (record !== null) checkRecord(record, options);
  const published = readPublished(machine.root);
  const azdParameters = readFileSync(join(machine.root, 'infra/main.parameters.json'), 'utf8');
  const deploys = options.kind === 'deploy' || options.kind === 'upgrade';
  const choices = record === null || !deploys ? NO_CHOICES : readChoices(ask, record, { azdParameters, published });
  const said = machine.environment;
  return {
    options,
    record,
    choices,
    kept: record === null ? [] : renderKept(choices, record, { azdParameters, said, published }),
    environment: {
      ...published?.variables,
      // What is said to be empty is to be as if it had never been chosen.
      ...Object.fromEntries(Object.entries(choices.variables).filter(([name]) => said[name] === undefined)),
      ...withoutEmpty(said, published?.variables ?? {}),
      ...record?.outputs,
      NODEWRIGHT_CLUSTER_ID: options.cluster,
      AZURE_ENV_NAME: options.name,
      AZURE_LOCATION: record?.location ?? options.location ?? '',
    },
  };
}

/** A variable that is empty is one that is not said: where there is a default of the package, that holds. */
function withoutEmpty(
  environment: Machine['environment'],
  defaults: Readonly<Record<string, string>>,
): Machine['environment'] {
  return Object.fromEntries(Object.entries(environment).filter(([name, value]) => value !== '' || !(name in defaults)));
}

function checkVersion(ask: Ask): void {
  const answer = ask(['version']);
  if (answer.kind !== 'answer') throw new Stopped(explainRefusal('see which az this is', answer), 2);
  const { 'azure-cli': version = '' } = (answer.value ?? {}) as { readonly 'azure-cli'?: string };
  const [major = 0, minor = 0] = version.split('.').map(Number);
  const [leastMajor, leastMinor] = AZ_MINIMUM;
  if (major > leastMajor || (major === leastMajor && minor >= leastMinor)) return;
  throw new Stopped(`the Azure CLI is ${version}, and ${AZ_MINIMUM.join('.')} is needed: run az upgrade`, 2);
}

function checkRecord(record: DeploymentRecord, options: DeployOptions): void {
  const { kind, cluster, name, location } = options;
  const { clusterResourceId } = record.parameters;
  if (typeof clusterResourceId === 'string' && clusterResourceId.toLowerCase() !== cluster.toLowerCase()) {
    throw new Stopped(`--name: ${name} is the deployment for ${clusterResourceId}: give --name another`, 2);
  }
  if (location !== null && location !== record.location) {
    throw new Stopped(
      `--location: ${name} is in ${record.location}, and cannot move: leave --location out, or remove it first with ${renderOther('uninstall', options)}`,
      2,
    );
  }
  if (isUnderWay(record) && kind !== 'status') {
    throw new Stopped(
      `a deployment of ${name} is under way since ${record.at} (${record.state}): somebody else's, or one of yours that was cut off. Type the same again when it has ended: az deployment sub wait --name ${record.name} --created; or end it: az deployment sub cancel --name ${record.name}`,
    );
  }
}

/** The names of other deployments for the same cluster: their role for machines is on its node resource group. */
export function othersOn(nodeGroupId: string, { options }: Pick<Target, 'options'>, ask: Ask): ReadonlyArray<string> {
  const answer = ask(['role', 'definition', 'list', '--custom-role-only', 'true', '--scope', nodeGroupId]);
  if (answer.kind !== 'answer') {
    throw new Stopped(sayItHere(explainRefusal('see whether Nodewright is deployed already', answer)));
  }
  const names = ((answer.value ?? []) as ReadonlyArray<{ readonly roleName?: string }>).flatMap(
    // The role ends in the first 20 letters of the name, and a hash: infra/main.bicep.
    ({ roleName = '' }) => /^Nodewright machines (.+)-[a-z0-9]{13}$/.exec(roleName)?.[1] ?? [],
  );
  return [...new Set(names)].filter((one) => one !== options.name.slice(0, 20)).toSorted();
}
