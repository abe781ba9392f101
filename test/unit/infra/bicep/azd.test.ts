import { existsSync, readFileSync, readdirSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { describe, expect, test } from 'vitest';
import { parse, parseAllDocuments } from 'yaml';
import { type InTheCluster, architectureOf, readCluster, tellForeign } from '../../../../infra/hooks/in-the-cluster.ts';
import {
  type Deployed,
  type Image,
  buildCommand,
  helmCommand,
  invokeCommand,
  nextSteps,
  outputNames,
  readDeployed,
  readImage,
  renderValues,
} from '../../../../infra/hooks/relay-commands.ts';
import { renderExports } from '../../../../infra/hooks/render-exports.ts';
import { removalOutputs } from '../../../../infra/hooks/outside.ts';
import { quoted } from '../../../../infra/hooks/run-program.ts';
import { readFeatureGates } from '../../../../shared/contract/settings/feature-gates.ts';
import { allBelow, parseAll, readTexts, root, textOf } from '../../../kit/infra/bicep/parse.ts';

interface Azd {
  readonly infra: { readonly path: string; readonly module: string };
  readonly services: Readonly<
    Record<string, { readonly project: string; readonly dist: string; readonly remoteBuild: boolean }>
  >;
  readonly hooks: Readonly<Record<string, Readonly<Record<'posix' | 'windows', { readonly run: string }>>>>;
}

const text = readFileSync(join(root, 'azure.yaml'), 'utf8');
const azd = parse(text) as Azd;
const { scripts } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
  readonly scripts: Readonly<Record<string, string>>;
};

/** What of azure.yaml does not fit the repository and the template. */
function azdFaults({ services, hooks }: Azd): ReadonlyArray<string> {
  const app = parseAll(readTexts()).get('modules/function-app.bicep');
  const tagged = app === undefined ? [] : allBelow(app.tree).flatMap((node) => textOf(node) ?? []);
  const ofServices = Object.entries(services).flatMap(([name, { project, dist }]) => [
    ...(tagged.includes(name) ? [] : [`no resource is tagged azd-service-name: ${name}`]),
    ...(existsSync(join(root, project, 'package.json')) ? [] : [`${project} has no package.json`]),
    ...(resolve(root, project, dist) === join(root, 'dist/app') ? [] : [`${dist} is not where the app is packed`]),
  ]);
  const ofHooks = Object.entries(hooks).flatMap(([name, { posix, windows }]) => {
    const [, script] = /(?:^|&& )npm run --silent (\w+)$/.exec(posix.run) ?? [];
    return [
      ...(posix.run === windows.run ? [] : [`${name} does something else on Windows`]),
      ...(script === undefined || scripts[script] !== undefined ? [] : [`${name} runs ${script}, which is no script`]),
    ];
  });
  return [...ofServices, ...ofHooks];
}

test('azure.yaml fits the repository and the template', () => {
  expect(azdFaults(azd)).toEqual([]);
});

test.for([
  ['  functions:', '  function:', 'no resource is tagged azd-service-name: function'],
  ['project: infra/app', 'project: infra/apps', 'infra/apps has no package.json'],
  ['dist: ../../dist/app', 'dist: ../dist/app', 'is not where the app is packed'],
  [
    'posix: { shell: sh, run: npm run --silent relay }',
    'posix: { shell: sh, run: npm run --silent relais }',
    'predeploy runs relais, which is no script',
  ],
  [
    'windows: { shell: pwsh, run: npm run --silent preflight }',
    'windows: { shell: pwsh, run: npm run preflight }',
    'preprovision does something else on Windows',
  ],
] as const)('azure.yaml is found out when broken: %s', ([from, to, said]) => {
  expect(text).toContain(from);
  expect(azdFaults(parse(text.replace(from, to)) as Azd).join('\n')).toContain(said);
});

describe('the relay', () => {
  const environment = {
    CLUSTER_NAME: 'my-cluster',
    CLUSTER_RESOURCE_GROUP: 'my-group',
    FUNCTIONS_PRINCIPAL_ID: 'f',
    RELAY_CLIENT_ID: 'r',
    SERVICE_BUS_NAMESPACE: 'bus.servicebus.windows.net',
    BLOB_SERVICE_URI: 'https://data.blob.core.windows.net/',
    RELAY_NAMESPACE: 'nodewright-system',
    REGISTRY_NAME: 'registry',
  };
  const deployed: Deployed = readDeployed(environment);

  test('every output that the hook reads is one of main.bicep', () => {
    const outputs = parseAll(readTexts()).get('main.bicep')?.outputs;
    expect([...outputNames, ...removalOutputs].filter((name) => outputs?.has(name) !== true)).toEqual([]);
    expect(outputNames.length).toBeGreaterThan(5);
  });

  test('its image is built in the registry, from a file that is there', () => {
    const words = 'acr build --registry registry --image nodewright-relay:1.2.3 --file relay/Dockerfile .'.split(' ');
    expect(buildCommand(deployed, { version: '1.2.3', architecture: 'amd64' })).toEqual(words);
    expect(buildCommand(deployed, { version: '1.2.3', architecture: 'arm64' }).join(' ')).toContain(
      '--platform linux/arm64 --file relay/Dockerfile .',
    );
  });

  const nothing: InTheCluster = { foreign: [], missing: [], architectures: [] };
  const built: Image = { repository: 'registry.azurecr.io/nodewright-relay', tag: '1.2.3', digest: '' };
  const valuesOf = (given: Partial<Deployed> = {}, cluster: InTheCluster = nothing): unknown =>
    renderValues({ ...deployed, ...given }, { image: built, architecture: '', cluster });

  test('the chart is given what the deployment made', () => {
    expect(helmCommand(deployed, { hasOwn: false }).join(' ')).toBe(
      'helm upgrade --install nodewright chart --namespace nodewright-system --create-namespace --values deployed-values.json',
    );
    expect(valuesOf()).toEqual({
      functions: { objectId: 'f' },
      workloadIdentity: { clientId: 'r' },
      settings: {
        clusterName: 'my-cluster',
        serviceBusNamespace: 'bus.servicebus.windows.net',
        blobServiceUri: 'https://data.blob.core.windows.net',
        featureGates: { capacityBuffer: false },
      },
      image: { repository: 'registry.azurecr.io/nodewright-relay', tag: '1.2.3' },
      serviceAccount: { name: 'nodewright-relay' },
    });
    expect(invokeCommand(deployed, 'helm list', { withFiles: true })).toEqual([
      ...'aks command invoke --resource-group my-group --name my-cluster --command'.split(' '),
      'helm list',
      '--file',
      '.',
    ]);
  });

  test.for([
    ['CapacityBuffer=true', true],
    ['NodeRepair=true, CapacityBuffer = true', true],
    ['CapacityBuffer=true,CapacityBuffer=false', false],
    ['NodeRepair=true', false],
    ['', false],
  ] as const)('the chart follows the app’s gate of buffers: %s', ([featureGates, capacityBuffer]) => {
    expect(valuesOf({ featureGates })).toMatchObject({ settings: { featureGates: { capacityBuffer } } });
    expect(readFeatureGates(featureGates).CapacityBuffer).toBe(capacityBuffer);
  });

  test('custom resources that somebody else keeps are not installed, and only then', () => {
    const crd = 'customresourcedefinition.apiextensions.k8s.io';
    const files = ['karpenter.sh_nodepools.yaml', 'autoscaling.x-k8s.io_capacitybuffers.yaml'];
    const theirs = readCluster([`${crd}/nodepools.karpenter.sh\n${crd}/x.example.com\n`, ''], files);
    expect(theirs).toEqual({
      foreign: ['nodepools.karpenter.sh'],
      missing: ['capacitybuffers.autoscaling.x-k8s.io'],
      architectures: [],
    });
    expect(valuesOf({}, theirs)).toMatchObject({ crds: { install: false } });
    expect(tellForeign(theirs)[1]).toContain('infra/chart/definitions/autoscaling.x-k8s.io_capacitybuffers.yaml');
    const ours = readCluster([`${crd}/nodepools.karpenter.sh\n`, `${crd}/nodepools.karpenter.sh\n`], files);
    expect(ours.foreign).toEqual([]);
    expect(valuesOf({}, ours)).not.toHaveProperty('crds');
  });

  test.for([
    [[], 'amd64'],
    [['amd64'], 'amd64'],
    [['amd64', 'arm64'], 'amd64'],
    [['arm64'], 'arm64'],
  ] as const)('an image is built for nodes that can run it: of %j for %s', ([architectures, architecture]) => {
    const nodes = architectures.map((one) => `aks-0  Ready  <none>  3d  v1.36.3  ${one}`).join('\n');
    const cluster = readCluster(['', '', nodes], []);
    expect(cluster.architectures).toEqual(architectures);
    expect(architectureOf(cluster)).toBe(architecture);
    expect(renderValues(deployed, { image: built, architecture, cluster })).toMatchObject({
      nodeSelector: { 'kubernetes.io/arch': architecture },
    });
  });

  const digest = `sha256:${'0a'.repeat(32)}`;
  test.for([
    ['mine.azurecr.io/relay:2', { repository: 'mine.azurecr.io/relay', tag: '2', digest: '' }],
    [`mine.azurecr.io/relay@${digest}`, { repository: 'mine.azurecr.io/relay', tag: '', digest }],
    [`host:5000/a/relay:2@${digest}`, { repository: 'host:5000/a/relay', tag: '2', digest }],
    ['host:5000/relay', { repository: 'host:5000/relay', tag: '', digest: '' }],
  ] as const)('an image is taken apart where its parts are: %s', ([whole, image]) => {
    expect(readImage(whole)).toEqual(image);
  });

  test.for([
    'relay:2',
    'mine.azurecr.io/relay@sha256:12',
    'mine.azurecr.io/relay@latest',
    'mine.azurecr.io/relay@',
    'a b/c',
  ])('what is no image is refused: %s', (wrong) => {
    expect(() => readImage(wrong)).toThrow('NODEWRIGHT_RELAY_IMAGE is');
  });

  test('what comes next names files that are there', () => {
    const files = nextSteps(deployed).flatMap((line) => /-f (\S+)/.exec(line)?.[1] ?? []);
    expect(files.length).toBeGreaterThan(0);
    expect(files.filter((file) => !existsSync(join(root, file)))).toEqual([]);
  });

  test.for([
    [
      { ...environment, RELAY_CLIENT_ID: '' },
      'RELAY_CLIENT_ID is not set: these are outputs of the deployment; run azd provision first',
    ],
    [{ ...environment, REGISTRY_NAME: '' }, 'NODEWRIGHT_RELAY_IMAGE does not name an image'],
  ] as const)('what is missing is named: %#', ([given, said]) => {
    expect(() => readDeployed(given)).toThrow(said);
  });

  test('an image of one’s own takes the place of the one that is built', () => {
    const own = { ...environment, REGISTRY_NAME: '', NODEWRIGHT_RELAY_IMAGE: 'mine.azurecr.io/relay:2' };
    expect(readDeployed(own).relayImage).toBe('mine.azurecr.io/relay:2');
  });
});

/**
 * What azd would read in place of `<module>.parameters.json`: the file that it prefers knows no variable of its
 * environment.
 */
function filesBefore({ infra: { path, module } }: Azd, names: ReadonlyArray<string>): ReadonlyArray<string> {
  return names.filter((name) => name === `${module}.bicepparam`).map((name) => `${path}/${name}`);
}

/** Parameters without a default whose variable the preflight sets: azd would ask for them where it runs too late. */
function askedTooEarly({ hooks }: Azd): ReadonlyArray<string> {
  const { parameters } = JSON.parse(readFileSync(join(root, 'infra/main.parameters.json'), 'utf8')) as {
    readonly parameters: Readonly<Record<string, { readonly value: unknown }>>;
  };
  const filled = readFileSync(join(root, 'infra/hooks/fill-in.ts'), 'utf8');
  const runsBefore = hooks['preup']?.posix.run.endsWith('npm run --silent preflight') === true;
  return Object.entries(parameters).flatMap(([name, { value }]) => {
    const [, variable] = /^\$\{(NODEWRIGHT_\w+)\}$/.exec(String(value)) ?? [];
    return variable !== undefined && filled.includes(`${variable}: [`) && !runsBefore ? [name] : [];
  });
}

test('what azd asks for by itself and the preflight finds is found before azd asks', () => {
  expect(askedTooEarly(azd)).toEqual([]);
  const late = { ...azd, hooks: { ...azd.hooks, preup: { posix: { run: 'npm ci' }, windows: { run: 'npm ci' } } } };
  expect(askedTooEarly(late)).toEqual(['nodeSubnetResourceId']);
});

describe('the parameters that azd reads', () => {
  const names = readdirSync(join(root, azd.infra.path));

  test('no parameter file of Bicep lies beside its module, as azd would read that and none of its own variables', () => {
    expect(names).toContain(`${azd.infra.module}.bicep`);
    expect(names).toContain(`${azd.infra.module}.parameters.json`);
    expect(filesBefore(azd, names)).toEqual([]);
  });

  test('one that is put there is found out', () => {
    expect(filesBefore(azd, [...names, 'main.bicepparam'])).toEqual(['infra/main.bicepparam']);
  });
});

test('the chart, with rights and custom resources, goes in before the code that uses them', () => {
  const names = Object.keys(azd.hooks);
  expect(azd.hooks['predeploy']?.posix.run).toBe('npm run --silent relay');
  expect(names.filter((name) => azd.hooks[name]?.posix.run.endsWith('relay') === true)).toEqual(['predeploy']);
});

test('azd down is stopped before it deletes groups that are not its own', () => {
  const [, script = ''] = /^npm run --silent (\w+)$/.exec(azd.hooks['predown']?.posix.run ?? '') ?? [];
  expect(scripts[script]).toBe('node infra/hooks/removal.ts');
});

test('outputs get back the letters that Resource Manager takes from their names, and quotes stay quotes', () => {
  const outputs = { azurE_LOCATION: { value: 'westeurope' }, clusteR_NAME: { value: "it's" } };
  expect(renderExports({ properties: { outputs } })).toEqual([
    "export AZURE_LOCATION='westeurope'",
    "export CLUSTER_NAME='it'\\''s'",
  ]);
  expect(renderExports({ properties: { outputs: null } })).toEqual([]);
});

test('every output has its name in capitals, so that it can be told again', () => {
  const names = [...(parseAll(readTexts()).get('main.bicep')?.outputs.keys() ?? [])];
  expect(names.filter((name) => name !== name.toUpperCase())).toEqual([]);
});

test('words with blanks reach a program on Windows as one', () => {
  expect(['--command', 'helm list', 'say "x"'].map(quoted)).toEqual(['--command', '"helm list"', '"say ""x"""']);
});

describe('what goes into the cluster', () => {
  const chart = join(root, 'infra/chart');
  const values = parse(readFileSync(join(chart, 'values.yaml'), 'utf8')) as Readonly<Record<string, unknown>>;
  const given = renderValues(readDeployed(Object.fromEntries(outputNames.map((name) => [name, 'x']))), {
    image: { repository: 'r', tag: 't', digest: 'd' },
    architecture: 'amd64',
    cluster: { foreign: ['x'], missing: [], architectures: [] },
  });

  /** Values that the chart does not have, or has of another type. Labels of nodes are the user's to name. */
  const unknown = (part: Readonly<Record<string, unknown>>, known: unknown, path = ''): ReadonlyArray<string> =>
    Object.entries(part).flatMap(([name, value]) => {
      const found = (known as Readonly<Record<string, unknown>> | undefined)?.[name];
      if (path === '.nodeSelector') return [];
      if (typeof value !== typeof found) return [`${path}.${name}`];
      return typeof value === 'object'
        ? unknown(value as Readonly<Record<string, unknown>>, found, `${path}.${name}`)
        : [];
    });

  test('the chart knows every value that it is given', () => {
    expect(unknown(given, values)).toEqual([]);
    expect(Object.keys(given).toSorted()).toEqual([
      'crds',
      'functions',
      'image',
      'nodeSelector',
      'serviceAccount',
      'settings',
      'workloadIdentity',
    ]);
    expect(unknown({ settings: { cluster: 'x', featureGates: { capacityBuffer: 'x' } } }, values)).toEqual([
      '.settings.cluster',
      '.settings.featureGates.capacityBuffer',
    ]);
  });

  test('the image is built from a file that is there', () => {
    const outputs = readDeployed(Object.fromEntries(outputNames.map((name) => [name, 'x'])));
    const file = buildCommand(outputs, { version: '1', architecture: 'amd64' });
    expect(existsSync(join(root, file[file.indexOf('--file') + 1] ?? ''))).toBe(true);
  });

  test('the federated credential is for the service account that the relay runs as', () => {
    const manifest = readFileSync(join(root, 'infra/kubernetes/40-relay.yaml'), 'utf8');
    const account = parseAllDocuments(manifest)
      .map(
        (document) => document.toJS() as { readonly kind: string; readonly metadata: Readonly<Record<string, string>> },
      )
      .find(({ kind }) => kind === 'ServiceAccount')?.metadata;
    const subject = `system:serviceaccount:${account?.['namespace']}:${account?.['name']}`;
    expect(subject).toBe('system:serviceaccount:nodewright-system:nodewright-relay');
    const { 'main.bicep': main, 'modules/identities.bicep': identities } = readTexts();
    expect(identities).toContain("subject: 'system:serviceaccount:${relayNamespace}:nodewright-relay'");
    expect(main).toContain(`param relayNamespace string = '${account?.['namespace']}'`);
  });
});
