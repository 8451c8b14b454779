// Runs a scenario: performs its steps in order, and waits for the event.

import type { EventType } from '../core/event-types.ts'
import type { Clock } from '../kit/clock.ts'
import type { Random } from '../kit/random.ts'
import type { StreamedEvent } from './event-stream.ts'
import type { MerchantClient } from './merchant-client.ts'
import type { Scenario, Step } from './scenarios.ts'
import { CommandError } from './terminal.ts'

export interface CompletedStep {
  description: string
  method: string
  path: string
  durationMs: number
}

interface Needs {
  merchant: Pick<MerchantClient, 'call' | 'postForm'>
  clock: Clock
  random: Random
  onStep(step: CompletedStep): void
}

type Variables = Record<string, string>

/** Runs the steps and returns the event that they caused. */
export async function runScenario(app: Needs, type: EventType, scenario: Scenario): Promise<StreamedEvent> {
  const variables = createVariables(app.random)
  for (const step of scenario.steps) {
    const startedAt = app.clock.now().getTime()
    const path = fill(step.path, variables)
    const record = await sendStep(app, step, path, variables)
    for (const [name, at] of Object.entries(step.capture ?? {}))
      variables[name] = requireText(record, at, step)
    const durationMs = app.clock.now().getTime() - startedAt
    app.onStep({ description: step.description, method: step.method, path, durationMs })
  }
  return awaitEvent(app, type, variables[scenario.resource] ?? '')
}

/** New references for each run, so that none exists yet. */
function createVariables(random: Random): Variables {
  const mark = random.uuid().slice(-12)
  return {
    reference: `trigger-${mark}`,
    chargeReference: `trigger-${mark}-again`,
    email: `amina.${mark}@example.com`,
    formToken: random.uuid(),
  }
}

async function sendStep(
  { merchant }: Needs,
  step: Step,
  path: string,
  variables: Variables,
): Promise<unknown> {
  const body = step.body && fillBody(step.body, variables)
  if (!step.isForm) return (await merchant.call(step.method, path, body)).data
  const { status } = await merchant.postForm(path, Object.fromEntries(Object.entries(body ?? {})))
  // A page that accepts a form redirects; otherwise it shows the form again with its issues.
  if (status !== 303)
    throw new CommandError(
      'step_failed',
      `"${step.description}" failed: the page responded with HTTP ${status}.`,
    )
  return null
}

function fill(text: string, variables: Variables): string {
  return text.replaceAll(/\{(\w+)\}/g, (_, name: string) => variables[name] ?? '')
}

function fillBody(body: object, variables: Variables): Record<string, string> {
  // A boundary: replacing placeholders keeps the shape of the body.
  return JSON.parse(JSON.stringify(body), (_, value: unknown) =>
    typeof value === 'string' ? fill(value, variables) : value,
  ) as Record<string, string>
}

/** A string at a path of a record, such as customer.uuid. */
function requireText(record: unknown, at: string, { description }: Step): string {
  const found = at
    .split('.')
    .reduce<unknown>(
      (value, name) =>
        typeof value === 'object' && value !== null
          ? Object.entries(value).find(([key]) => key === name)?.[1]
          : undefined,
      record,
    )
  if (typeof found === 'string') return found
  throw new CommandError('step_failed', `"${description}" failed: the response has no ${at}.`)
}

// Background work emits some events, and it runs every second or so.
const EVENT_TIMEOUT_MS = 15_000
const POLL_INTERVAL_MS = 250

async function awaitEvent(app: Needs, type: EventType, resource: string): Promise<StreamedEvent> {
  const until = app.clock.now().getTime() + EVENT_TIMEOUT_MS
  const path = `/api/v1/events?${new URLSearchParams({ type, resource, limit: '1' })}`
  do {
    // A boundary: the merchants' API describes its records in src/deliveries/schema.ts.
    const [event] = (await app.merchant.call('GET', path)).data as StreamedEvent[]
    if (event) return event
    await app.clock.sleep(POLL_INTERVAL_MS)
  } while (app.clock.now().getTime() < until)
  throw new CommandError(
    'no_event',
    `All steps ran, but ${type} did not arrive within ${EVENT_TIMEOUT_MS / 1_000} s. Is a process running the background work (cowry serve --role worker)?`,
  )
}
