import { ArmError, invalidParameter, resourceNotFound } from '../arm/arm-error.ts';
import type { Cloud } from '../state/cloud.ts';
import type { ImageShelf } from '../catalog/images.ts';
import { isObject, listAt, textAt, valueAt } from '../arm/json.ts';
import { page } from '../arm/pages.ts';
import { parseCondition } from '../arm/query-expression.ts';
import { type Usage, usages } from '../state/quota.ts';
import { ok, type ArmRequest, type ArmResponse, type Route } from '../arm/router.ts';
import { readJson, type Size } from '../catalog/sizes.ts';
import type { Restrictions } from '../state/restrictions.ts';

const SUBSCRIPTION = '/subscriptions/{subscription}';
const COMPUTE = `${SUBSCRIPTION}/providers/Microsoft.Compute`;

/** Sizes come in pages of this many, as the real list does not do; clients must follow links all the same. */
const SKU_PAGE = 500;

/** Learn "Spot placement score": limits of one question. */
const PLACEMENT_LIMITS = { sizes: 5, locations: 8 } as const;

/** What can be bought where: sizes, quota, locations, node images, placement scores. */
export function catalogRoutes(
  cloud: Cloud,
  parts: { readonly folder: string; readonly images: ImageShelf },
): ReadonlyArray<Route> {
  const locations = listAt(readJson(parts.folder, 'locations.json'), 'locations');
  return [
    {
      method: 'GET',
      pattern: `${COMPUTE}/skus`,
      answer: (request) => answerSkus(cloud, request),
    },
    {
      method: 'GET',
      pattern: `${COMPUTE}/locations/{location}/usages`,
      answer: (_request, { location = '' }) => {
        refuseOtherLocation(cloud, location);
        return ok({ value: renderUsages(cloud) });
      },
    },
    {
      method: 'GET',
      pattern: `${SUBSCRIPTION}/locations`,
      answer: () => ok({ value: locations.map((row) => renderLocation(cloud, row)) }),
    },
    {
      method: 'GET',
      pattern: `${COMPUTE}/locations/{location}/communityGalleries/{gallery}/images/{image}/versions`,
      answer: (request, { location = '', gallery = '', image = '' }) => {
        refuseOtherLocation(cloud, location);
        const versions = parts.images.versions(gallery, image);
        if (versions === null) throw resourceNotFound(`communityGalleries/${gallery}/images/${image}`, location);
        return page(request, versions, cloud.options.pageSize);
      },
    },
    {
      method: 'POST',
      pattern: `${COMPUTE}/locations/{location}/placementScores/spot/generate`,
      answer: (request, { location = '' }) => {
        refuseOtherLocation(cloud, location);
        return placementScores(cloud, request);
      },
    },
  ];
}

function answerSkus(cloud: Cloud, request: ArmRequest): ArmResponse {
  const filter = request.query.get('$filter');
  const { region } = cloud.options;
  if (filter !== null && !parseCondition(filter)({ location: region })) return ok({ value: [] });
  return page(request, [...listSkus(cloud), ...otherSkus(region)], SKU_PAGE);
}

/** The VM sizes of the region as the list has them, those that are withheld with the reason. */
export function listSkus(cloud: Cloud): ReadonlyArray<object> {
  return [...cloud.sizes.values()].map((size) => renderSku(cloud.options.region, size, cloud.restrictions));
}

function renderSku(region: string, size: Size, restrictions: Restrictions): object {
  const ultra = size.capabilities['UltraSSDAvailable'] === 'True' && size.zones.length > 0;
  return {
    resourceType: 'virtualMachines',
    name: size.name,
    tier: 'Standard',
    size: size.name.replace(/^Standard_/, ''),
    family: size.family,
    locations: [region],
    locationInfo: [
      {
        location: region,
        zones: size.zones,
        zoneDetails: ultra ? [{ name: size.zones, capabilities: [{ name: 'UltraSSDAvailable', value: 'True' }] }] : [],
      },
    ],
    capabilities: Object.entries(size.capabilities).map(([name, value]) => ({ name, value })),
    restrictions: restrictions.of(size.name, region),
  };
}

/** The list names disks and others too: whoever reads it must pick the VMs. */
function otherSkus(region: string): ReadonlyArray<object> {
  const locationInfo = [{ location: region, zones: ['1', '2', '3'], zoneDetails: [] }];
  return ['Premium_LRS', 'StandardSSD_LRS', 'UltraSSD_LRS'].map((name) => ({
    resourceType: 'disks',
    name,
    tier: name.split('_')[0],
    size: 'P10',
    locations: [region],
    locationInfo,
    capabilities: [{ name: 'MaxSizeGiB', value: '128' }],
    restrictions: [],
  }));
}

/** Every quota of the region and its use now, with the families of all sizes. */
export function usagesOf(cloud: Cloud): ReadonlyArray<Usage> {
  const families = [...cloud.sizes.values()].map(({ family }) => family);
  return usages(cloud.counted(), cloud.quota, families);
}

function renderUsages(cloud: Cloud): ReadonlyArray<object> {
  return usagesOf(cloud).map(({ name, localizedName, current, limit }) => ({
    unit: 'Count',
    currentValue: current,
    limit,
    name: { value: name, localizedValue: localizedName },
  }));
}

function renderLocation(cloud: Cloud, row: unknown): object {
  const name = textAt(row, 'name') ?? '';
  const zones = valueAt(row, 'zones');
  return {
    id: `/subscriptions/${cloud.options.subscriptionId}/locations/${name}`,
    name,
    type: 'Region',
    displayName: textAt(row, 'displayName') ?? name,
    regionalDisplayName: textAt(row, 'displayName') ?? name,
    metadata: {
      regionType: textAt(row, 'regionType') ?? 'Physical',
      regionCategory: textAt(row, 'category') ?? 'Other',
      geography: textAt(row, 'geography') ?? '',
      pairedRegion: listAt(row, 'paired').map((paired) => ({ name: paired })),
    },
    ...(isObject(zones) && Object.keys(zones).length > 0
      ? {
          availabilityZoneMappings: Object.entries(zones).map(([logicalZone, physicalZone]) => ({
            logicalZone,
            physicalZone,
          })),
        }
      : {}),
  };
}

function placementScores(cloud: Cloud, request: ArmRequest): ArmResponse {
  const sizes = listAt(request.body, 'desiredSizes').map((entry) => textAt(entry, 'sku') ?? '');
  const regions = listAt(request.body, 'desiredLocations').map(String);
  if (sizes.length === 0 || sizes.length > PLACEMENT_LIMITS.sizes)
    throw invalidParameter('desiredSizes', `Name 1 to ${PLACEMENT_LIMITS.sizes} sizes.`);
  if (regions.length === 0 || regions.length > PLACEMENT_LIMITS.locations)
    throw invalidParameter('desiredLocations', `Name 1 to ${PLACEMENT_LIMITS.locations} locations.`);
  const zonal = valueAt(request.body, 'availabilityZones') === true;
  return ok({
    desiredLocations: regions,
    desiredSizes: sizes.map((sku) => ({ sku })),
    desiredCount: valueAt(request.body, 'desiredCount') ?? 1,
    availabilityZones: zonal,
    placementScores: regions.flatMap((region) =>
      sizes.flatMap((sku) => (zonal ? ['1', '2', '3'] : [null]).map((zone) => scoreOf(cloud, region, sku, zone))),
    ),
  });
}

function scoreOf(cloud: Cloud, region: string, sku: string, zone: string | null): object {
  const size = cloud.sizes.get(sku.toLowerCase());
  const where = zone === null ? {} : { availabilityZone: zone };
  const known = size !== undefined && region === cloud.options.region && (zone === null || size.zones.includes(zone));
  if (!known) return { sku, region, ...where, score: 'DataNotFoundOrStale', isQuotaAvailable: false };
  const full = cloud.capacity.isFull({ size: size.name, zone, capacityType: 'spot' });
  const scores = ['High', 'High', 'Medium', 'Low'] as const;
  const drawn = scores[cloud.options.rng.split(`score/${sku}/${zone ?? ''}`).below(scores.length)] ?? 'Low';
  return { sku, region, ...where, score: full ? 'Low' : drawn, isQuotaAvailable: true };
}

function refuseOtherLocation(cloud: Cloud, location: string): void {
  if (location.toLowerCase() === cloud.options.region) return;
  throw new ArmError(404, {
    code: 'NoRegisteredProviderFound',
    message: `The double serves the region '${cloud.options.region}' only, not '${location}'.`,
  });
}
