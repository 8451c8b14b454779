// What a test event of each type has: the kind of its resource, and a record. The record is the example of its schema in the
// OpenAPI document, or is made from the examples of its properties.

import { type OpenApiDocument, propertiesOf } from './operations.ts'
import { nameOf, type Schema, type Schemas } from './schema-types.ts'

interface TestEvent {
  type: string
  resource: string
  record: string
  /** The state that the type names, where the record has such a state. */
  state: Record<string, string>
}

export function renderTestEvents({ components: { schemas } }: OpenApiDocument): string {
  const events = testEventsOf(schemas)
  const names = [...new Set(events.map(({ record }) => record))].toSorted()
  const records = names.map((name) => `  ${name}: ${JSON.stringify(recordOf(name, schemas))},\n`)
  const lines = events.map(
    ({ type, resource, record, state }) =>
      `  '${type}': { resource: '${resource}', record: '${record}', state: ${JSON.stringify(state)} },\n`,
  )
  return [
    "import type { Event } from './schemas.ts'\n\n",
    '/** An example of each record. */\n',
    `export const RECORDS: Readonly<Record<string, Readonly<Record<string, unknown>>>> = {\n${records.join('')}}\n\n`,
    'interface TestEvent {\n',
    "  resource: Event['resource']['type']\n",
    '  /** The name of its record. */\n',
    '  record: string\n',
    '  /** The state that the type names. */\n',
    '  state: Readonly<Record<string, string>>\n',
    '}\n\n',
    `export const TEST_EVENTS: Readonly<Record<Event['type'], TestEvent>> = {\n${lines.join('')}}\n`,
  ].join('')
}

function testEventsOf(schemas: Schemas): TestEvent[] {
  const variants = schemas.Event?.oneOf
  if (!variants) throw new Error('the events of the document are no union')
  const kinds = valuesOf(propertiesOf(schemas.EventResource ?? {}, schemas).type)
  return variants.map((variant) => {
    const { type: name, data } = propertiesOf(variant, schemas)
    const type = String(name?.const)
    const resource = RESOURCES[type] ?? RESOURCES[type.split('.')[0] ?? ''] ?? type.split('.')[0] ?? ''
    if (!kinds.includes(resource)) throw new Error(`${type} is about no known resource: ${resource}`)
    const state = stateOf(type, propertiesOf(data ?? {}, schemas), schemas)
    return { type, resource, record: nameOf(data?.$ref ?? ''), state }
  })
}

/** The resources that have another name than the types of their events. */
const RESOURCES: Readonly<Record<string, string>> = {
  'payment.needs_review': 'case',
  p2p: 'p2p_payment',
  wallet: 'settlement',
  webhook: 'webhook_endpoint',
}

const resolve = (schema: Schema, schemas: Schemas) =>
  schema.$ref === undefined ? schema : (schemas[nameOf(schema.$ref)] ?? {})

const valuesOf = (schema: Schema | undefined) =>
  (schema?.enum ?? []).filter((value) => typeof value === 'string')

/** payment.expired is an event of a payment whose status is expired. */
function stateOf(type: string, properties: Record<string, Schema>, schemas: Schemas): Record<string, string> {
  const state = type.split('.')[1] ?? ''
  const field = ['transferStatus', 'status'].find((name) =>
    valuesOf(resolve(properties[name] ?? {}, schemas)).includes(state),
  )
  return field === undefined ? {} : { [field]: state }
}

/** In events, values that grant access are null. */
const SECRETS = ['accessCode', 'checkoutUrl', 'recurringToken']

function recordOf(name: string, schemas: Schemas): unknown {
  const text = JSON.stringify(sampleOf({ $ref: `#/components/schemas/${name}` }, schemas))
  return JSON.parse(text, (key, value) => (SECRETS.includes(key) ? null : value))
}

function sampleOf(schema: Schema, schemas: Schemas): unknown {
  const found = resolve(schema, schemas)
  const [example] = schema.examples ?? found.examples ?? []
  if (example !== undefined) return example
  if (found.const !== undefined) return found.const
  if (found.enum) return found.enum[0]
  const properties = propertiesOf(found, schemas)
  if (Object.keys(properties).length > 0)
    return Object.fromEntries(Object.entries(properties).map(([name, one]) => [name, sampleOf(one, schemas)]))
  const [first] = [found.anyOf ?? found.oneOf ?? []].flat()
  if (first) return sampleOf(first, schemas)
  return SAMPLES[found.format ?? ''] ?? SAMPLES[[found.type ?? 'null'].flat()[0] ?? ''] ?? null
}

/** By format, and by type. */
const SAMPLES: Readonly<Record<string, unknown>> = {
  uuid: '0197a3c2-7d51-7cc3-98c4-dc0c0c07398f',
  'date-time': '2026-03-14T09:26:53.589Z',
  string: 'text',
  integer: 1,
  number: 1,
  boolean: true,
  array: [],
  object: {},
}
