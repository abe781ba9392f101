import { ArmError, invalidParameter } from '../arm/arm-error.ts';
import type { Azure } from '../running-azure.ts';
import type { CapacityError } from '../state/capacity.ts';
import type { EventLog } from '../events/event-log.ts';
import type { MaintenanceType } from '../machines/eviction.ts';
import type { OrderedFault } from '../limits/ordered-fault.ts';
import { isObject, listAt, objectAt, textAt, valueAt, type JsonObject } from '../arm/json.ts';
import { noFaults } from '../state/options.ts';
import { DISK_CONTROLLERS } from '../catalog/sizes.ts';
import { THROTTLING_CODES } from '../limits/throttling.ts';
import { ok, type ArmRequest, type ArmResponse, type Route } from '../arm/router.ts';

const CAPACITY_ERRORS: ReadonlyArray<CapacityError> = [
  'SkuNotAvailable',
  'ZonalAllocationFailed',
  'AllocationFailed',
  'OverconstrainedZonalAllocationRequest',
  'OverconstrainedAllocationRequest',
];

const MAINTENANCE: ReadonlyArray<MaintenanceType> = ['Freeze', 'Reboot', 'Redeploy', 'Terminate'];

const done: ArmResponse = { status: 204, headers: {}, body: null };

/**
 * How the double is steered when it runs in a process of its own: everything of `Azure` over HTTP, under `/sandbox`.
 * It asks for no credential and listens on loopback only.
 */
export function adminRoutes(azure: () => Azure, log: EventLog): ReadonlyArray<Route> {
  return [...readingRoutes(azure, log), ...steeringRoutes(azure)];
}

function readingRoutes(azure: () => Azure, log: EventLog): ReadonlyArray<Route> {
  return [
    get('vms', () => ({ vms: azure().vms() })),
    get('counters', () => azure().counters()),
    get('capacity', () => azure().capacity()),
    get('deliveries', () => ({ deliveries: azure().deliveries() })),
    get('health', () => ({ status: 'ok' })),
    get('events', (request) => ({ events: log.after(Number(request.query.get('after') ?? '0')) })),
  ];
}

function get(path: string, answer: (request: ArmRequest) => object): Route {
  return { method: 'GET', pattern: `/sandbox/${path}`, answer: (request) => ok(answer(request)) };
}

function post(path: string, act: (body: JsonObject) => void | Promise<void>): Route {
  return {
    method: 'POST',
    pattern: `/sandbox/${path}`,
    answer: async ({ body }) => {
      await refusing(() => act(body));
      return done;
    },
  };
}

function steeringRoutes(azure: () => Azure): ReadonlyArray<Route> {
  return [
    post('evict', (body) => {
      azure().evict(text(body, 'name'), { noticeSeconds: numberOr(body, 'noticeSeconds', 30) });
    }),
    post('schedule', (body) => {
      const type = MAINTENANCE.find((known) => known === textAt(body, 'type'));
      if (type === undefined) throw invalidParameter('type', `Choose one of ${MAINTENANCE.join(', ')}.`);
      azure().schedule(text(body, 'name'), type, { noticeSeconds: numberOr(body, 'noticeSeconds', 600) });
    }),
    post('crash', (body) => {
      azure().crash(text(body, 'name'));
    }),
    post('image-disk-controllers', (body) => {
      const types = listAt(body, 'types').map(String);
      const found = DISK_CONTROLLERS.filter((known) => types.includes(known));
      if (found.length === 0 || found.length < types.length)
        throw invalidParameter('types', `Choose of ${DISK_CONTROLLERS.join(', ')}.`);
      azure().setImageDiskControllers(found);
    }),
    post('backend-pools', (body) => {
      azure().setBackendPools(listAt(body, 'names').map(String));
    }),
    post('fail-zone', (body) => {
      azure().failZone(text(body, 'zone'));
    }),
    post('exhaust', (body) => {
      azure().exhaust(exhaustionFrom(body));
    }),
    post('restrict', (body) => {
      const zones = valueAt(body, 'zones');
      azure().restrict({ size: text(body, 'size'), zones: Array.isArray(zones) ? zones.map(String) : [] });
    }),
    post('heal', () => {
      azure().heal();
    }),
    post('faults', (body) => {
      azure().setFaults({ ...noFaults, ...numbersOf(body) });
    }),
    post('order-fault', (body) => {
      azure().orderFault(orderedFaultFrom(body));
    }),
    post('quota', (body) => {
      const { families: _families, ...limits } = body;
      const families = numbersOf(objectAt(body, 'families'));
      azure().setQuota({ ...azure().quota(), ...numbersOf(limits), families });
    }),
    post('price', (body) => {
      const capacityType = textAt(body, 'capacityType') === 'spot' ? 'spot' : 'on-demand';
      azure().setPrice(text(body, 'size'), capacityType, numberOr(body, 'microUsdPerHour', 0));
    }),
    post('eviction-rate', (body) => {
      azure().setEvictionRate(text(body, 'size'), text(body, 'rate'));
    }),
    post('publish-image', (body) => {
      azure().publishImage(text(body, 'version'));
    }),
    post('subscribe', (body) =>
      azure().subscribe({
        name: text(body, 'name'),
        schema: textAt(body, 'schema') === 'CloudEvents' ? 'CloudEvents' : 'EventGrid',
        destination:
          textAt(body, 'queue') === null
            ? text(body, 'url')
            : { connectionString: text(body, 'connectionString'), queue: text(body, 'queue') },
      }),
    ),
    post('unsubscribe', (body) => azure().unsubscribe(text(body, 'name'))),
  ];
}

/** What a steering call refuses is the caller's mistake: a 400 that says why, never a broken connection. */
async function refusing(act: () => void | Promise<void>): Promise<void> {
  try {
    await act();
  } catch (error) {
    if (error instanceof ArmError) throw error;
    const message = error instanceof Error ? error.message : String(error);
    throw new ArmError(400, { code: 'BadRequest', message });
  }
}

function exhaustionFrom(body: JsonObject): Parameters<Azure['exhaust']>[0] {
  const code = CAPACITY_ERRORS.find((known) => known === (textAt(body, 'code') ?? 'ZonalAllocationFailed'));
  if (code === undefined) throw invalidParameter('code', `Choose one of ${CAPACITY_ERRORS.join(', ')}.`);
  const capacityType = textAt(body, 'capacityType');
  return {
    size: textAt(body, 'size'),
    zone: textAt(body, 'zone'),
    capacityType: capacityType === 'spot' || capacityType === 'on-demand' ? capacityType : null,
    code,
    remaining: numberOr(body, 'remaining', 0),
  };
}

function orderedFaultFrom(body: JsonObject): OrderedFault {
  const fault = objectAt(body, 'fault');
  const common = {
    method: textAt(body, 'method'),
    pathContains: textAt(body, 'pathContains') ?? '',
    times: numberOr(body, 'times', 1),
  };
  switch (textAt(fault, 'kind') ?? '') {
    case 'refuse': {
      const retryAfter = valueAt(fault, 'retryAfterSeconds');
      return {
        ...common,
        fault: {
          kind: 'refuse',
          status: numberOr(fault, 'status', 500),
          code: textAt(fault, 'code') ?? 'InternalServerError',
          message: textAt(fault, 'message') ?? 'Ordered by the sandbox.',
          retryAfterSeconds: typeof retryAfter === 'number' ? retryAfter : null,
        },
      };
    }
    case 'throttle': {
      const given = textAt(fault, 'code');
      const code = THROTTLING_CODES.find((known) => known === given) ?? null;
      if (code === null && given !== null)
        throw invalidParameter('fault.code', `Choose one of ${THROTTLING_CODES.join(', ')}.`);
      const retryAfterSeconds = numberOr(fault, 'retryAfterSeconds', noFaults.retryAfterSeconds);
      return { ...common, fault: { kind: 'throttle', code, retryAfterSeconds } };
    }
    case 'slow':
      return { ...common, fault: { kind: 'slow', ms: numberOr(fault, 'ms', 1_000) } };
    case 'lostResponse':
      return { ...common, fault: { kind: 'lostResponse' } };
    case 'garbage':
      return { ...common, fault: { kind: 'garbage' } };
    default:
      throw invalidParameter('fault.kind', 'Choose one of refuse, throttle, slow, lostResponse, garbage.');
  }
}

function text(body: JsonObject, key: string): string {
  const value = textAt(body, key);
  if (value === null || value === '') throw invalidParameter(key, `The field '${key}' must be a text.`);
  return value;
}

function numberOr(body: JsonObject, key: string, fallback: number): number {
  const value = body[key];
  return typeof value === 'number' && Number.isFinite(value) && value >= 0 ? value : fallback;
}

function numbersOf(value: unknown): { readonly [key: string]: number } {
  if (!isObject(value)) return {};
  return Object.fromEntries(
    Object.entries(value).filter((entry): entry is [string, number] => typeof entry[1] === 'number'),
  );
}
