// The OpenAPI document of the merchants' API.

import type { Route, Tag } from '../../kit/http/route.ts'
import { assembleDocument } from './assemble.ts'
import { createComponents } from './components.ts'
import type { DocumentedRoute } from './documented-route.ts'
import { addEvents, type EventData, WEBHOOKS } from './events.ts'
import { recordExamples } from './examples.ts'
import { merchantErrorCodes } from './parts.ts'

export interface DocumentInfo {
  /** The origin of the service; without it the server URL in the document is relative. */
  publicUrl?: string
  /** Absent: the data of an event is any object. */
  eventData?: EventData
}

// In the order of the interface, then the others. A tag is listed even while it has no operation.
const TAGS: Readonly<Record<Tag, string>> = {
  Checkout:
    'Payments through a hosted checkout: initiate one, send the customer there, verify it when they come back.',
  P2P: 'Payments by transfer to an account of your own, which you confirm. They serve currencies that no gateway serves.',
  'Payment Links': 'Pages at which anyone with the link pays, once or many times, without a shop.',
  Customer: 'Changes to one customer and to its saved payment methods, and its payments.',
  Customers: 'Your customers and their saved payment methods, to read.',
  Misc: 'The wallet, reports, what this service can collect where, and the sandbox for your tests.',
  Charges:
    'Charges of a saved payment method without the customer present, refunds, and cases that need a decision.',
  Webhooks: 'Events, and the endpoints of yours that they are delivered to.',
  'API keys': 'Your API keys: create, rotate with an overlap, revoke. And the audit log of changes.',
}

const DESCRIPTION = `One JSON API to collect payments through many gateways.

Every operation requires the merchant's key in the \`x-api-key\` header, and returns only the data of that merchant. Amounts
in requests are numbers in major units; amounts in responses are decimal strings with two places. Requests are idempotent:
the same reference or \`Idempotency-Key\` with the same body returns the existing record. A field or query parameter that
an operation does not document is refused as \`unknown_field\`; \`metadata\` takes any. Null for an optional field equals
leaving it out, except for a field of a PATCH that may be null: there null removes the value.

Every response has the header \`X-Request-Id\`. Every response to a valid key also has \`RateLimit-Policy\` (q requests at
once, refilled within w seconds) and \`RateLimit\` (r requests are left now, all q again in t seconds), unless the operator
has switched the limit off. A client that sends
\`Accept: application/problem+json\` gets errors as problems (RFC 9457) with the same facts: \`type\` is the docUrl,
\`title\` the meaning of the code, \`detail\` the message, and \`code\`, \`errorType\`, \`retryable\`, \`requestId\` and
\`details\` are as in \`error\`.`

/** The groups of a sidebar, for tools that know them. */
const TAG_GROUPS: readonly { name: string; tags: Tag[] }[] = [
  { name: 'Collect', tags: ['Checkout', 'P2P', 'Payment Links', 'Charges'] },
  { name: 'Customers', tags: ['Customers', 'Customer'] },
  { name: 'Account', tags: ['Misc', 'Webhooks', 'API keys'] },
]

export function openApiDocument(routes: readonly Route[], { publicUrl, eventData }: DocumentInfo): object {
  const components = createComponents()
  const documented = routes.map(toDocumented)
  if (eventData) addEvents(eventData, components, recordExamples(documented).get('Payment'))
  return assembleDocument(documented, {
    publicUrl,
    title: 'Cowry',
    summary: 'Payment collection',
    description: DESCRIPTION,
    tags: TAGS,
    tagGroups: TAG_GROUPS,
    securityScheme: {
      apiKey: { type: 'apiKey', in: 'header', name: 'x-api-key', description: 'The key of a merchant.' },
    },
    webhooks: eventData && WEBHOOKS,
    components,
  })
}

function toDocumented(route: Route): DocumentedRoute {
  return {
    ...route,
    description: [route.description, scopeSentence(route)].filter(Boolean).join('\n\n'),
    codes: merchantErrorCodes(route),
    isIdempotent: route.method === 'POST',
  }
}

function scopeSentence({ scope, alsoScope }: Route): string {
  return alsoScope === undefined
    ? `Needs the scope \`${scope}\`.`
    : `Needs the scope \`${scope}\` and the scope \`${alsoScope}\`.`
}
