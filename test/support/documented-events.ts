import assert from 'node:assert/strict'
import { TEST_EVENTS } from '../../packages/sdk/src/generated/test-events.ts'
import type { Api } from './api.ts'
import { createResponseValidator, type Document } from './openapi.ts'

/** Fails if an event of the merchant differs from the schema of its type or from the test event of the SDK, or if there are few types of events. */
export async function assertEventsDocumented(api: Api, document: Document): Promise<void> {
  const { schemaErrors } = createResponseValidator(document)
  const { mapping } = document.components.schemas.Event.discriminator
  const types = new Set<string>()
  let query: string | null = 'limit=100'
  while (query !== null) {
    const { data, meta }: Document = (await api.get(`/api/v1/events?${query}`)).body
    for (const event of data) {
      const pointer = mapping[event.type].slice(2).split('/')
      assert.deepEqual(schemaErrors(pointer, event), [], `${event.type}: ${JSON.stringify(event.data)}`)
      assert.deepEqual([event.type, event.resource.type], [event.type, resourceOf(event.type)])
      types.add(event.type)
    }
    query = meta.nextCursor === null ? null : `limit=100&cursor=${meta.nextCursor}`
  }
  assert.ok(types.size >= 10, [...types].join(' '))
}

const resourceOf = (type: string) => Object.entries(TEST_EVENTS).find(([name]) => name === type)?.[1].resource
