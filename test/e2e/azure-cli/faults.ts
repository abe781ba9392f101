import type { OrderedFault } from '../../../sandbox/azure/limits/ordered-fault.ts';
import type { Rng } from '../../../sandbox/base/rng.ts';
import type { OpenAzure, Request } from '../../kit/azure-cli/open-azure.ts';

/** What goes wrong with one request. */
export type FaultKind = (typeof KINDS)[number];

export const KINDS = ['403', '404', '409', '429', '500', 'failed operation', 'connection cut'] as const;

/** What is typed, in the order in which one needs the other. */
export type Command = (typeof COMMANDS)[number];

export const COMMANDS = ['deploy', 'upgrade', 'uninstall'] as const;

/** One request of a command, and what goes wrong with it. */
export interface FaultCase {
  readonly command: Command;
  readonly method: string;
  /** Its path up to what changes from one run to the next, after its host where that is not Resource Manager's. */
  readonly place: string;
  readonly kind: FaultKind;
}

/** What the double says of the fault, in the form that Azure has for it. */
const REFUSALS: Readonly<Record<string, { readonly status: number; readonly code: string; readonly message: string }>> =
  {
    '403': {
      status: 403,
      code: 'AuthorizationFailed',
      message:
        "The client 'x' with object id 'y' does not have authorization to perform action 'Microsoft.Double/refused/action' over scope '/subscriptions/x' or the scope is invalid. If access was recently granted, please refresh your credentials.",
    },
    '404': { status: 404, code: 'ResourceNotFound', message: "The Resource 'double/refused' was not found." },
    '409': { status: 409, code: 'Conflict', message: 'Another double/refused operation is in progress.' },
    '429': { status: 429, code: 'TooManyRequests', message: 'The double/refused limit is reached.' },
    '500': { status: 500, code: 'InternalServerError', message: 'The double/refused server has failed.' },
  };

/** Whether what was said tells of the fault. What az itself has kept to itself, the command says that it has. */
export function isTold(said: string, { place, kind }: Pick<FaultCase, 'place' | 'kind'>): boolean {
  if (TOLD[kind].test(said)) return true;
  // Whom az cannot look up it takes for an object id, which Azure does not know.
  if (place.startsWith('/graph.microsoft.com/')) return said.includes('PrincipalNotFound');
  return /^\/[^/]+\.azurecr\.io\//.test(place) && said.includes('az does not say why');
}

/** What of the fault has to be told, whatever az makes of it. */
const TOLD: Readonly<Record<FaultKind, RegExp>> = {
  '403': /Microsoft\.Double\/refused|403|Forbidden|AuthorizationFailed/,
  '404': /double\/refused|404|NotFound|Not Found/i,
  '409': /double\/refused|409|Conflict|ongoing/i,
  '429': /double\/refused|429|Too ?Many ?Requests/i,
  '500': /double\/refused|500|Internal ?Server ?Error/i,
  'failed operation': /double\/refused|unhealthy|failed/i,
  'connection cut': /[Cc]onnection|closed|reset|EOF|aborted|ECONNRESET|fetch failed|proxy/,
};

/** az tries three times more by itself what it takes for a passing fault: it is to see that there is no passing. */
const MORE_THAN_AZ_TRIES = 5;

/** Lets it happen from now on. The answer ends it, and says whether it has happened. */
export function arm({ azure, cut }: OpenAzure, { method, place, kind }: FaultCase): () => boolean {
  const isWhole = !place.endsWith('/');
  const order = (times: number, fault: OrderedFault['fault']): void =>
    azure.orderFault({ method, pathContains: place, isWhole, times, fault });
  const count = (): number => Object.values(azure.counters().faults).reduce((sum, one) => sum + one, 0);
  const before = count();
  const clear = (): boolean => {
    azure.heal();
    return count() > before;
  };
  const refusal = REFUSALS[kind];
  if (refusal !== undefined) {
    const isRetried = kind === '429' || kind === '500';
    order(isRetried ? MORE_THAN_AZ_TRIES : 1, { kind: 'refuse', ...refusal, retryAfterSeconds: isRetried ? 1 : null });
    return clear;
  }
  if (kind === 'failed operation') {
    order(1, {
      kind: 'failedOperation',
      code: 'DoubleFailed',
      message: 'What the double/refused operation makes has failed.',
    });
    return clear;
  }
  // While the answer is under way, with the work done.
  order(1, { kind: 'slow', ms: CUT_AFTER_MS * 4 });
  const watch = setInterval(() => {
    if (count() === before) return;
    clearInterval(watch);
    setTimeout(cut, CUT_AFTER_MS);
  }, 20);
  return () => {
    clearInterval(watch);
    return clear();
  };
}

const CUT_AFTER_MS = 100;

/** Requests that begin something which goes on after the answer. */
const BEGINS = [
  /^PUT .*\/managedClusters\/[^/]+$/,
  /^PUT .*\/deployments\/[^/]+$/,
  /^POST .*\/runCommand$/,
  /^POST .*\/scheduleRun$/,
  /^DELETE .*\/resourcegroups\/[^/]+$/i,
  /^DELETE .*\/deployments\/[^/]+$/,
];

/** Every request of a command's run once, with everything that can go wrong with it. */
export function casesOf(command: Command, requests: ReadonlyArray<Request>): ReadonlyArray<FaultCase> {
  const asked = requests
    .filter(({ host }) => host !== 'login.microsoftonline.com')
    .map((request) => ({ method: request.method, place: placeOf(request) }));
  const seen = new Set<string>();
  return asked.flatMap(({ method, place }) => {
    const key = `${method} ${place}`;
    if (seen.has(key)) return [];
    seen.add(key);
    const kinds = KINDS.filter((kind) => kind !== 'failed operation' || BEGINS.some((pattern) => pattern.test(key)));
    return kinds.map((kind) => ({ command, method, place, kind }));
  });
}

function placeOf({ host, path }: Request): string {
  const [plain = ''] = path.split('?');
  const place = host === 'management.azure.com' ? plain : `/${host}${plain}`;
  // Ids that are drawn anew: the part before them says enough.
  return place.replace(
    /(operationresults|operationStatuses|commandResults|roleAssignments|source|runs|logs)\/.*$/,
    '$1/',
  );
}

/**
 * A fair part of the cases: of each kind and of each command that is there as many as of the others, each at another
 * place in its run. Which comes first is drawn, as a few draws do not reach all.
 */
export function drawCases(all: ReadonlyArray<FaultCase>, count: number, rng: Rng): ReadonlyArray<FaultCase> {
  const commands = COMMANDS.filter((command) => all.some((one) => one.command === command));
  const [firstKind, firstCommand] = [rng.below(KINDS.length), rng.below(commands.length)];
  return Array.from({ length: count }, (_, index) => {
    const kind = KINDS[(index + firstKind) % KINDS.length];
    const command = commands[(index + firstCommand) % commands.length];
    const alike = all.filter((one) => one.kind === kind && one.command === command);
    // The run is cut into as many parts as there are draws, so that they are spread over it.
    const from = Math.floor((index * alike.length) / count);
    const to = Math.max(from + 1, Math.floor(((index + 1) * alike.length) / count));
    return alike[from + rng.below(to - from)];
  }).flatMap((one) => one ?? []);
}

/** As a line of a report, and as `AZURE_CLI_FAULTS` takes it. */
export function renderCase({ command, method, place, kind }: FaultCase): string {
  return `${command}: ${kind} for ${method} ${place}`;
}
