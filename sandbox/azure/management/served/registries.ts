import { createHash } from 'node:crypto';
import { ArmError, resourceNotFound } from '../../arm/arm-error.ts';
import { drawGuid } from '../../arm/guid.ts';
import { listAt, textAt, type JsonObject } from '../../arm/json.ts';
import { ok, type ArmRequest, type Route } from '../../arm/router.ts';
import type { Management, Registry } from '../management.ts';

const REGISTRY =
  '/subscriptions/{subscription}/resourceGroups/{group}/providers/Microsoft.ContainerRegistry/registries/{name}';

/** The store that contexts of builds go to, and their logs come from. */
export const BUILD_STORE = 'acrtaskdouble';

/** Registries, and builds in them. A build makes an image of what was sent, whose digest is the content's. */
export function registryRoutes(management: Management): ReadonlyArray<Route> {
  const { builds, cloud, registries } = management;
  const find = (group: string, name: string): Registry => {
    const found = registries.get(name.toLowerCase());
    if (found === undefined || found.group.toLowerCase() !== group.toLowerCase())
      throw resourceNotFound(`Microsoft.ContainerRegistry/registries/${name}`, group);
    return found;
  };
  return [
    {
      method: 'GET',
      pattern: REGISTRY,
      answer: (_request, { group = '', name = '' }) => ok(shown(find(group, name))),
    },
    {
      method: 'POST',
      pattern: `${REGISTRY}/listBuildSourceUploadUrl`,
      answer: (_request, { group = '', name = '' }) => {
        find(group, name);
        const relativePath = `source/${drawGuid(cloud.rng('builds'))}.tar.gz`;
        const uploadUrl = `https://${BUILD_STORE}.blob.core.windows.net/${relativePath}?sv=2021-08-06&sig=double`;
        return ok({ uploadUrl, relativePath });
      },
    },
    {
      method: 'POST',
      pattern: `${REGISTRY}/scheduleRun`,
      answer: (request, { group = '', name = '' }) => {
        const registry = find(group, name);
        const runId = `run${builds.size + 1}`;
        build(management, registry, { runId, request });
        return ok({ name: runId, properties: { runId, status: 'Queued' } });
      },
    },
    {
      method: 'POST',
      pattern: `${REGISTRY}/runs/{run}/listLogSasUrl`,
      answer: (_request, { run = '' }) =>
        ok({ logLink: `https://${BUILD_STORE}.blob.core.windows.net/logs/${run}.log?sv=2021-08-06&sig=double` }),
    },
    {
      method: 'GET',
      pattern: `${REGISTRY}/runs/{run}`,
      answer: (_request, { run = '' }) =>
        ok({ name: run, properties: { runId: run, status: builds.get(run) ?? 'Queued' } }),
    },
  ];
}

function build(
  { blobs, builds, registries }: Management,
  registry: Registry,
  { runId, request }: { readonly runId: string; readonly request: ArmRequest },
): void {
  const { body, ending } = request;
  const context = blobs.get(`/${textAt(body, 'sourceLocation') ?? ''}`);
  if (context === undefined)
    throw new ArmError(400, { code: 'InvalidRunRequest', message: 'The source of the build was not uploaded.' });
  const outcome = ending === null ? 'Succeeded' : 'Failed';
  builds.set(runId, outcome);
  blobs.set(
    `/logs/${runId}.log`,
    Buffer.from(`Step 1/1 : FROM double\r\n${ending?.message ?? 'Successfully built'}\r\n`),
  );
  if (outcome === 'Failed') return;
  const digest = `sha256:${createHash('sha256').update(context).digest('hex')}`;
  const images = new Map(registry.images);
  for (const image of listAt(body, 'imageNames')) images.set(String(image), digest);
  registries.set(registry.name.toLowerCase(), { ...registry, images });
}

function shown({ id, name, location }: Registry): JsonObject {
  return {
    id,
    name,
    type: 'Microsoft.ContainerRegistry/registries',
    location,
    sku: { name: 'Basic', tier: 'Basic' },
    properties: { loginServer: `${name}.azurecr.io`, provisioningState: 'Succeeded', adminUserEnabled: false },
  };
}
