import type { Readable } from 'node:stream';
import { isRecord } from '../../shared/contract/api/schema/object-meta.ts';
import type { ConvertOptions } from '../command.ts';
import { readDocuments, type SourceDocument } from '../input/read/read-documents.ts';
import { readObjects, type InputObject } from '../input/objects.ts';
import { readSources } from '../input/read/read-sources.ts';
import type { PlanOutcome } from '../plan/plan-from-files.ts';
import { renderJson, renderYaml } from '../documents/render-document.ts';
import { WrongInputError } from '../wrong-input.ts';
import { convertAgentPool, isAgentPool } from './convert-agent-pool.ts';
import { convertNodePool } from './convert-node-pool.ts';
import { convertProvisioner } from './convert-provisioner.ts';
import type { Fields, Manifest } from '../documents/converted-manifest.ts';
import { checked, fieldsOf, metadataOf, type Converted } from './converted.ts';

/** Writes NodePools and AKSNodeClasses from what the files hold. Throws WrongInputError where one cannot be read. */
export async function convertFromFiles(options: ConvertOptions, stdin: Readable): Promise<PlanOutcome> {
  const { sources, problems } = await readSources(options.paths, stdin);
  const read = await Promise.all(sources.map(readDocuments));
  const documents = read.flatMap((one) => one.documents);
  const pools = documents.flatMap(agentPoolsIn);
  const others = readObjects(documents.filter((document) => agentPoolsIn(document).length === 0));
  const wrong = [...problems, ...read.flatMap((one) => one.problems), ...others.problems];
  if (wrong.length > 0) throw new WrongInputError(wrong);
  const converted = [
    ...pools.map((pool) => convertAgentPool(pool, options.region)),
    ...others.objects.map(convertObject),
  ];
  const manifests = converted.flatMap((one) => one.manifests);
  const text = await render(manifests, options.output);
  return { text, notes: converted.flatMap((one) => one.notes), errors: [], exitCode: manifests.length === 0 ? 1 : 0 };
}

/** `az aks nodepool list` prints a list, `az aks nodepool show` one. */
function agentPoolsIn({ value }: SourceDocument): ReadonlyArray<Fields> {
  const entries = (Array.isArray(value) ? value : [value]).filter(isRecord);
  return entries.every(isAgentPool) ? entries : [];
}

function convertObject({ apiVersion, kind, value }: InputObject): Converted {
  if (kind === 'NodePool') return convertNodePool(value);
  if (kind === 'Provisioner') return convertProvisioner(value);
  if (kind === 'AKSNodeClass') {
    const metadata = metadataOf(value['metadata']);
    const spec = fieldsOf(value['spec']);
    return checked({ apiVersion: 'karpenter.azure.com/v1beta1', kind, metadata, spec });
  }
  return {
    manifests: [],
    notes: [`${kind} of ${apiVersion} is left out: only NodePools, Provisioners and AKSNodeClasses are converted`],
  };
}

async function render(manifests: ReadonlyArray<Manifest>, output: ConvertOptions['output']): Promise<string> {
  if (output === 'json') return renderJson({ apiVersion: 'v1', kind: 'List', items: manifests });
  return (await Promise.all(manifests.map((manifest) => renderYaml(manifest)))).join('---\n');
}
