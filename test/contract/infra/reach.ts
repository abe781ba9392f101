import type { Connection } from '../../../sandbox/kubernetes/client/connection.ts';
import type { Access } from '../../kit/infra/access.ts';

/** Who asks the API server. */
export interface Subject {
  readonly user: string;
  readonly groups: ReadonlyArray<string>;
}

interface Resource {
  readonly group: string;
  /** With its subresource, as `pods/eviction`. */
  readonly path: string;
  readonly namespaced: boolean;
}

interface Question {
  readonly verb: string;
  readonly resource: Resource;
  readonly namespace: string;
  readonly name: string;
}

/** Every verb that RBAC knows of resources; the last three are of rights themselves. */
const verbs = ['get', 'list', 'watch', 'create', 'update', 'patch', 'delete', 'deletecollection'];
const verbsOfRights = ['bind', 'escalate', 'impersonate'];

/** Namespaces where something could be granted apart. */
const namespaces = ['nodewright-system', 'kube-system', 'default'];

/** Enough to keep an API server of two cores busy. */
const CONCURRENCY = 24;

/**
 * All that the API server's authorizer lets `subject` do and not everybody, tried out: each verb of each resource that
 * it serves, in all namespaces, in some, and to objects of these `names`. In the words of `access.ts`, sorted.
 */
export async function reachOf(
  connection: Connection,
  subject: Subject,
  names: Readonly<Record<string, ReadonlyArray<string>>>,
): Promise<ReadonlyArray<Access>> {
  const everybody = { user: 'somebody', groups: subject.groups };
  const questions = (await resourcesOf(connection)).flatMap((resource) => questionsOf(resource, names));
  const allowed = await ask(connection, subject, questions);
  const basic = new Set(await ask(connection, everybody, allowed));
  const own = allowed.filter((question) => !basic.has(question));
  return own
    .filter((question) => !own.some((other) => contains(other, question)))
    .map(render)
    .toSorted();
}

async function resourcesOf(connection: Connection): Promise<ReadonlyArray<Resource>> {
  const { groups } = await connection.get<{
    readonly groups: ReadonlyArray<{ readonly versions: ReadonlyArray<{ readonly groupVersion: string }> }>;
  }>('/apis');
  const served = ['/api/v1', ...groups.flatMap((group) => group.versions.map((one) => `/apis/${one.groupVersion}`))];
  const found = new Map<string, Resource>();
  for (const path of served) {
    const { resources } = await connection.get<{
      readonly resources: ReadonlyArray<{ readonly name: string; readonly namespaced: boolean }>;
    }>(path);
    const group = path === '/api/v1' ? '' : (path.split('/')[2] ?? '');
    for (const { name, namespaced } of resources) found.set(`${group}/${name}`, { group, path: name, namespaced });
  }
  return [...found.values()];
}

function questionsOf(
  resource: Resource,
  names: Readonly<Record<string, ReadonlyArray<string>>>,
): ReadonlyArray<Question> {
  const isOfRights = /^(?:cluster)?roles$|^serviceaccounts$/.test(resource.path);
  const asked = isOfRights ? [...verbs, ...verbsOfRights] : verbs;
  const places = resource.namespaced ? ['', ...namespaces] : [''];
  const called = ['', ...(names[`${resource.group}/${resource.path}`] ?? [])];
  return asked.flatMap((verb) =>
    places.flatMap((namespace) => called.map((name) => ({ verb, resource, namespace, name }))),
  );
}

/** Those of the questions that are answered with yes. */
async function ask(
  connection: Connection,
  { user, groups }: Subject,
  questions: ReadonlyArray<Question>,
): Promise<ReadonlyArray<Question>> {
  const yes: Array<Question> = [];
  const queue = questions.values();
  const work = async (): Promise<void> => {
    for (const question of queue) {
      const { group, path } = question.resource;
      const [resource = '', subresource = ''] = path.split('/');
      const { verb, namespace, name } = question;
      const spec = { user, groups, resourceAttributes: { verb, group, resource, subresource, namespace, name } };
      const { status } = await connection.create<{ readonly status: { readonly allowed: boolean } }>(
        '/apis/authorization.k8s.io/v1/subjectaccessreviews',
        { apiVersion: 'authorization.k8s.io/v1', kind: 'SubjectAccessReview', spec },
      );
      if (status.allowed) yes.push(question);
    }
  };
  await Promise.all(Array.from({ length: CONCURRENCY }, work));
  return yes;
}

/** Whether what `one` lets do covers `other`. */
function contains(one: Question, other: Question): boolean {
  return (
    one !== other &&
    one.verb === other.verb &&
    one.resource === other.resource &&
    (one.namespace === '' || one.namespace === other.namespace) &&
    (one.name === '' || one.name === other.name)
  );
}

function render({ verb, resource: { group, path }, namespace, name }: Question): Access {
  const place = namespace === '' ? '' : ` in ${namespace}`;
  return `${verb} ${group}/${path}${place}${name === '' ? '' : ` named ${name}`}`;
}
