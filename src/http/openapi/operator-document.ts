// The OpenAPI document of the operators' API under /admin/v1.

import type { OperatorRoute } from '../../kit/http/route.ts'
import { assembleDocument } from './assemble.ts'
import { createComponents } from './components.ts'
import type { DocumentedRoute } from './documented-route.ts'
import { OPERATOR_SCHEMAS, operatorErrorCodes } from './parts.ts'

export const OPERATOR_DOCUMENT_PATH = '/admin/v1/openapi.json'

type OperatorTag =
  | 'Merchants'
  | 'API keys'
  | 'People'
  | 'Gateways'
  | 'Cases'
  | 'Reconciliation'
  | 'Audit log'
  | 'Instance'

const TAGS: Readonly<Record<OperatorTag, string>> = {
  Merchants: 'The merchants of this instance: create, change, suspend and activate them.',
  'API keys': 'The API keys of merchants: create, rotate with an overlap, revoke.',
  People: 'Invitations of people to the dashboard: owners of merchants, and operators.',
  Gateways: 'The gateways of this instance, whether their credentials work, and accounts of merchants there.',
  Cases: 'Payments and refunds that need a decision of the operator.',
  Reconciliation: 'Settlement files of gateways, and what differs between them and the ledger.',
  'Audit log': 'Who changed what, in a chain of hashes that can be verified.',
  Instance: 'The state of the service: jobs, log, invariants and the encryption of stored secrets.',
}

/** The tag of an operation, by the resource that its id begins with. */
const TAG_OF_RESOURCE: Readonly<Record<string, OperatorTag>> = {
  merchants: 'Merchants',
  apiKeys: 'API keys',
  ownerInvitations: 'People',
  operatorInvitations: 'People',
  demoLinks: 'People',
  users: 'People',
  gateways: 'Gateways',
  gatewayAccounts: 'Gateways',
  cases: 'Cases',
  reconciliations: 'Reconciliation',
  reconciliationBreaks: 'Reconciliation',
  audit: 'Audit log',
  cells: 'Instance',
  encryption: 'Instance',
  invariants: 'Instance',
  jobs: 'Instance',
  logs: 'Instance',
}

const DESCRIPTION = `The API for the operator of this service, beside the API of merchants. Keep it on an internal network.

Every operation requires the operator token: \`Authorization: Bearer\`, or the header \`X-Admin-Token\`. API keys of
merchants do not work here. An operator reads and changes the data of all merchants, and each change is in the audit log. No
\`Idempotency-Key\` is read. A field or query parameter that an operation does not document is refused as
\`unknown_field\`. Null for an optional field equals leaving it out.

Every response has the header \`X-Request-Id\`. A client that sends \`Accept: application/problem+json\` gets errors as
problems (RFC 9457) with the same facts.`

export function operatorDocument(
  routes: readonly OperatorRoute[],
  { publicUrl }: { publicUrl?: string },
): object {
  return assembleDocument(routes.map(toDocumented), {
    publicUrl,
    title: 'Cowry for operators',
    summary: 'Operation of a payment collection service',
    description: DESCRIPTION,
    tags: TAGS,
    securityScheme: {
      operatorToken: {
        type: 'http',
        scheme: 'bearer',
        description: 'The operator token: COWRY_ADMIN_TOKEN, or the file admin-token in the data folder.',
      },
    },
    components: createComponents(),
    schemas: OPERATOR_SCHEMAS,
  })
}

function toDocumented(route: OperatorRoute): DocumentedRoute {
  const [resource = ''] = route.operationId.split('.')
  const tag = TAG_OF_RESOURCE[resource]
  if (tag === undefined) throw new Error(`TAG_OF_RESOURCE has no tag for ${route.operationId}`)
  return {
    ...route,
    description: route.description ?? '',
    tag,
    codes: operatorErrorCodes(route),
    isIdempotent: false,
  }
}
