import type { VirtualMachine } from '@azure/arm-compute';
import type { NetworkInterface } from '@azure/arm-network';
import type { Clients } from '../../../shared/adapters/azure/calls/clients.ts';

/** An error as the management clients throw it. */
export function armError(status: number, code: string, message = code, headers: Record<string, string> = {}): Error {
  const response = { headers: { get: (name: string) => headers[name] } };
  return Object.assign(new Error(message), { statusCode: status, code, response });
}

/** What each call answers; an Error is thrown. What a test does not name answers with success, or with 404 to a GET. */
export interface Answers {
  readonly vm?: () => VirtualMachine | Error;
  readonly vmPut?: () => void | Error | Promise<void>;
  readonly vmDelete?: () => void | Error;
  readonly vms?: ReadonlyArray<VirtualMachine> | Error;
  readonly nic?: () => NetworkInterface | Error;
  readonly nicPut?: () => void | Error;
  readonly nicDelete?: () => void | Error;
  readonly nics?: ReadonlyArray<NetworkInterface> | Error;
  readonly extensionPut?: () => void | Error;
}

/** Management clients that answer as the test says, and what was asked of them, in order. */
export function fakeAzure(answers: Answers): {
  readonly clients: Clients;
  readonly asked: Array<string>;
  readonly bodies: Array<unknown>;
} {
  const asked: Array<string> = [];
  const bodies: Array<unknown> = [];
  const notFound = (): Error => armError(404, 'ResourceNotFound');
  const writes = (what: string, answer: undefined | (() => void | Error | Promise<void>)) => ({
    submitted: async () => {
      asked.push(what);
      const outcome = await answer?.();
      if (outcome instanceof Error) throw outcome;
    },
  });
  const reads = async <T>(what: string, answer: (() => T | Error) | undefined): Promise<T> => {
    asked.push(what);
    const outcome = answer === undefined ? notFound() : answer();
    if (outcome instanceof Error) throw outcome;
    return outcome;
  };
  async function* lists<T>(what: string, rows: ReadonlyArray<T> | Error | undefined): AsyncIterable<T> {
    asked.push(what);
    if (rows instanceof Error) throw rows;
    for (const row of rows ?? []) yield row;
  }
  const virtualMachines = {
    get: (group: string, name: string, { expand }: { readonly expand: string }) =>
      reads(`vm get ${group}/${name} ${expand}`, answers.vm),
    createOrUpdate: (group: string, name: string, body: unknown, { ifNoneMatch }: { readonly ifNoneMatch: string }) => {
      bodies.push(body);
      return writes(`vm put ${group}/${name} if-none-match ${ifNoneMatch}`, answers.vmPut);
    },
    delete: (group: string, name: string, { forceDeletion }: { readonly forceDeletion: boolean }) =>
      writes(`vm delete ${group}/${name} force ${forceDeletion}`, answers.vmDelete),
    list: (group: string) => lists(`vm list ${group}`, answers.vms),
  };
  const networkInterfaces = {
    get: (group: string, name: string) => reads(`nic get ${group}/${name}`, answers.nic),
    createOrUpdate: (group: string, name: string, body: unknown) => {
      bodies.push(body);
      return writes(`nic put ${group}/${name}`, answers.nicPut);
    },
    delete: (group: string, name: string) => writes(`nic delete ${group}/${name}`, answers.nicDelete),
    list: (group: string) => lists(`nic list ${group}`, answers.nics),
  };
  const virtualMachineExtensions = {
    createOrUpdate: (group: string, vm: string, name: string, body: unknown) => {
      bodies.push(body);
      return writes(`extension put ${group}/${vm}/${name}`, answers.extensionPut);
    },
  };
  const clients = {
    compute: () => Promise.resolve({ virtualMachines, virtualMachineExtensions }),
    network: () => Promise.resolve({ networkInterfaces }),
  } as unknown as Clients;
  return { clients, asked, bodies };
}
