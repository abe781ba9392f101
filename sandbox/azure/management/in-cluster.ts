import { parse } from 'yaml';
import { isObject, type JsonObject } from '../arm/json.ts';

/** How a command ended that Azure ran in the cluster. */
export interface Ended {
  readonly exitCode: number;
  readonly logs: string;
}

/** Who runs the command, and what came along with it. */
export interface Runner {
  readonly mayAdminister: boolean;
  /** The files that came along, by name. */
  readonly files: ReadonlyMap<string, () => string>;
}

const CRDS = [
  'aksnodeclasses.karpenter.azure.com',
  'capacitybuffers.autoscaling.x-k8s.io',
  'nodeclaims.karpenter.sh',
  'nodeoverlays.karpenter.sh',
  'nodepools.karpenter.sh',
];

/**
 * As much of a cluster as the commands of `deploy`, `status` and `uninstall` ask it for, by their words alone: who may
 * install the chart, whether it is installed and with which values, which custom resources and objects there are. What
 * it is not asked today it does not know.
 */
export class InCluster {
  /** Whether the relay's chart is installed. */
  isInstalled = false;
  /** The values that it was installed with last, as Helm keeps them; null: it is not installed. */
  values: JsonObject | null = null;
  /** Custom resources outlive the chart. */
  hasDefinitions = false;
  /** `nodepool.karpenter.sh/default` and the like. */
  objects: ReadonlyArray<string> = [];

  /** Runs what a shell would: commands with `;` between, and the last one's exit code. */
  run(text: string, runner: Runner): Ended {
    const ended = text.split('; ').map((command) => this.#runOne(command, runner));
    return { exitCode: ended.at(-1)?.exitCode ?? 0, logs: ended.map(({ logs }) => logs).join('') };
  }

  #runOne(command: string, runner: Runner): Ended {
    if (command.startsWith('echo ')) return says(`${command.slice('echo '.length)}\n`);
    if (command.startsWith('kubectl auth can-i ')) return runner.mayAdminister ? says('yes\n') : says('no\n', 1);
    if (!runner.mayAdminister) return says(`Error from server (Forbidden): ${command}\n`, 1);
    if (command.startsWith('helm upgrade --install nodewright chart ')) return this.#install(command, runner);
    if (/^helm get values nodewright --namespace \S+ --output json$/.test(command))
      return this.values === null ? says('Error: release: not found\n', 1) : says(`${JSON.stringify(this.values)}\n`);
    if (command.startsWith('helm uninstall nodewright --ignore-not-found ')) {
      const was = this.isInstalled;
      this.isInstalled = false;
      this.values = null;
      return says(was ? 'release "nodewright" uninstalled\n' : '');
    }
    const [, verb, kinds = ''] = /^kubectl (get|delete) (\S+)/.exec(command) ?? [];
    if (verb === 'get') return this.#get(kinds, command);
    if (verb === 'delete') return this.#delete(kinds);
    return says(`the double of a cluster does not know: ${command}\n`, 127);
  }

  #install(command: string, { files }: Runner): Ended {
    const named = [...command.matchAll(/ --values (\S+)/g)].map(([, name = '']) => name);
    const missing = ['chart/Chart.yaml', ...named].filter((name) => !files.has(name));
    if (missing.length > 0) return says(`Error: ${missing.join(', ')} did not come along\n`, 1);
    this.isInstalled = true;
    this.values = named.map((name) => parse(files.get(name)?.() ?? '') as unknown).reduce<JsonObject>(merge, {});
    this.hasDefinitions = true;
    return says('Release "nodewright" has been upgraded. Happy Helming!\n');
  }

  #get(kinds: string, command: string): Ended {
    if (kinds === 'customresourcedefinitions')
      return says(
        this.hasDefinitions
          ? CRDS.map((name) => `customresourcedefinition.apiextensions.k8s.io/${name}\n`).join('')
          : command.includes('--selector')
            ? 'No resources found\n'
            : '',
      );
    if (kinds === 'nodes') return says('aks-system-12345678-vmss000000   Ready   <none>   1d   v1.36.3   amd64\n');
    if (kinds === 'pods' || kinds === 'events') return says('No resources found\n');
    if (!this.hasDefinitions)
      return says(`error: the server doesn't have a resource type "${kinds.split(',')[0]}"\n`, 1);
    const found = this.objects.filter((name) =>
      kinds.split(',').some((kind) => name.startsWith(kind.replace(/e?s$/, ''))),
    );
    return says(found.length === 0 ? 'No resources found\n' : found.map((name) => `${name}\n`).join(''));
  }

  /** What is deleted takes what it made with it. */
  #delete(kinds: string): Ended {
    if (!this.hasDefinitions) return says(`error: the server doesn't have a resource type "${kinds}"\n`, 1);
    const goes = kinds === 'nodepools' ? /^node(pool|claim)/ : /^aksnodeclass/;
    const gone = this.objects.filter((name) => goes.test(name));
    this.objects = this.objects.filter((name) => !goes.test(name));
    return says(gone.length === 0 ? 'No resources found\n' : gone.map((name) => `${name} deleted\n`).join(''));
  }
}

/** As Helm lays one file of values over another. */
function merge(under: JsonObject, over: unknown): JsonObject {
  const values = isObject(over) ? over : {};
  return Object.fromEntries(
    Object.entries({ ...under, ...values }).map(([name, value]) => {
      const was = under[name];
      return [name, isObject(value) && isObject(was) ? merge(was, value) : value];
    }),
  );
}

function says(logs: string, exitCode = 0): Ended {
  return { exitCode, logs };
}
