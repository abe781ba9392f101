import { type DeployOptions, renderOther } from './deploy-options.ts';
import { lookOnce } from './first-look.ts';
import type { Machine } from './machine.ts';
import { isUnderWay } from './target/deployment-record.ts';
import { Stopped } from './stopped.ts';
import { openTarget } from './target/target.ts';

/** Says what is deployed, and whether it works. Throws Stopped where it does not. */
export async function status(options: DeployOptions, machine: Machine): Promise<void> {
  const target = openTarget(options, machine);
  const { record } = target;
  if (record === null) {
    throw new Stopped(
      `nothing is deployed for this cluster under the name ${options.name}: nodewright deploy --cluster ${options.cluster} deploys it; one that azd or a hand deployed under another name keeps that`,
    );
  }
  const { AZURE_RESOURCE_GROUP: group } = record.outputs;
  machine.say(
    `${record.name}: ${record.state}, ${record.at}, ${record.location}${group === undefined ? '' : `, resource group ${group}`}`,
  );
  for (const fault of record.faults) machine.say(`✗ ${fault}`);
  if (isUnderWay(record)) throw new Stopped(`it is under way: az deployment sub wait --name ${record.name} --created`);
  if (group === undefined) {
    throw new Stopped(`it did not end well: ${renderOther('deploy', options)} continues it`);
  }
  const works = await lookOnce(target, machine);
  if (record.state !== 'Succeeded' || !works) throw new Stopped('it does not work: the lines above say why');
}
