// GET /metrics: the format for Prometheus, its authorization, and the absence of personal data.

import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, describe, it } from 'node:test'
import { runCommandLine } from '../../src/cli/program.ts'
import { checkWhenDue } from '../../src/kit/db/invariant-checks.ts'
import { assertApiError, assertKeys } from '../support/assertions.ts'
import { chargeBody, initiateBody, payWith, saveMethod } from '../support/builders.ts'
import { findFreePort } from '../support/deployment.ts'
import { tickingClock } from '../support/fake-clock.ts'
import { ADMIN_TOKEN, testService } from '../support/service.ts'

// Short on purpose: staging accepts it with a warning.
const TOKEN = 'prometheus'
const port = await findFreePort()
// Without background jobs, so that due work stays due.
const clock = tickingClock()
const service = await testService(
  { after },
  { clock, role: 'api', env: { COWRY_METRICS_TOKEN: TOKEN, COWRY_METRICS_LISTEN: `127.0.0.1:${port}` } },
)
const { api, admin } = service
const anonymous = service.apiWith(undefined)
const bearer = (token: string) => ({ authorization: `Bearer ${token}` })

const METRICS = '/metrics'

/** The value of a series, by its name and some of its labels; undefined when there is none. */
function metricValue(text: string, name: string, labels: Record<string, string> = {}): number | undefined {
  const line = text
    .split('\n')
    .filter((one) => one.startsWith(`${name}{`) || one.startsWith(`${name} `))
    .find((one) => Object.entries(labels).every(([label, value]) => one.includes(`${label}="${value}"`)))
  return line === undefined ? undefined : Number(line.slice(line.lastIndexOf(' ') + 1))
}

const read = async () => (await admin.get(METRICS)).text

/** Reads the current state of the instance, without the cache. */
const readFresh = () => {
  clock.advance(6_000)
  return read()
}

// A database role has the same prefix.
const NAMES = /\b(?:cowry|process|nodejs)_(?!merchant\b)[a-z_]+/g

/** The metrics that a page names, without the derived series of a histogram. */
function namedIn(page: string): string[] {
  const text = readFileSync(join(import.meta.dirname, '../..', page), 'utf8')
  return [...new Set(text.match(NAMES))].map((name) =>
    name.replace(/_seconds_(?:bucket|sum|count)$/, '_seconds'),
  )
}

describe('the metrics', () => {
  it('requires the metrics token, and rejects the keys of merchants', async () => {
    assertApiError(await anonymous.get(METRICS), 'invalid_admin_token')
    assertApiError(await api.get(METRICS), 'invalid_admin_token')
    assertApiError(await anonymous.get(METRICS, bearer('another-token')), 'invalid_admin_token')
  })

  it('serves metrics to Prometheus and operators, and accepts the metrics token nowhere else', async () => {
    for (const answer of [await anonymous.get(METRICS, bearer(TOKEN)), await admin.get(METRICS)]) {
      assert.equal(answer.http, 200)
      assert.equal(answer.headers.get('content-type'), 'text/plain; version=0.0.4; charset=utf-8')
    }
    assertApiError(await anonymous.get('/admin/v1/merchants', bearer(TOKEN)), 'invalid_admin_token')
  })

  it('warns at the start of staging of a token that can be guessed, by the name of its setting', async () => {
    const { lines } = (await admin.get('/admin/v1/logs?level=warn&limit=500')).body.data
    const warnings = lines.filter((line: { key: string }) => line.key === 'settings.weak_token')
    assert.deepEqual(
      warnings.map(({ fields }: { fields: { reason: string } }) => fields.reason),
      ['COWRY_METRICS_TOKEN'],
    )
    assert.ok(!JSON.stringify(warnings).includes(TOKEN))
  })

  it('serves only metrics at the separate listener', async () => {
    const own = await fetch(`http://127.0.0.1:${port}/metrics`)
    assert.equal(own.status, 200)
    assert.match(await own.text(), /^cowry_database_up 1$/m)
    for (const path of ['/', '/healthz', '/admin/v1/merchants'])
      assert.equal((await fetch(`http://127.0.0.1:${port}${path}`)).status, 404)
  })

  it('writes metrics in the format of Prometheus', async () => {
    const sample = /^[a-z_]+(?:\{(?:[a-z_]+="(?:[^"\\\n]|\\.)*",?)+\})? (?:-?[0-9.e+-]+|NaN|[+-]Inf)$/
    const lines = (await read()).split('\n').filter((line) => line !== '')
    assert.deepEqual(
      lines.filter((line) => !/^# (?:HELP|TYPE) [a-z_]+ ./.test(line) && !sample.test(line)),
      [],
    )
  })

  it('counts and times requests by their route pattern, never by their address', async () => {
    const { customer } = await payWith(api, 'card_success')
    await api.get(`/api/v1/customers/${customer.uuid}`)
    await api.get('/api/v1/customers/nonsense')
    await api.get('/no/such/route')
    const text = await read()
    const route = '/api/v1/customers/:uuid'
    assert.equal(metricValue(text, 'cowry_http_requests_total', { method: 'GET', route, class: '2xx' }), 1)
    assert.equal(metricValue(text, 'cowry_http_requests_total', { method: 'GET', route, class: '4xx' }), 1)
    assert.equal(metricValue(text, 'cowry_http_request_duration_seconds_count', { method: 'GET', route }), 2)
    assert.equal(metricValue(text, 'cowry_http_requests_total', { route: 'unknown', class: '4xx' }), 1)
    assert.ok(!text.includes(customer.uuid) && !text.includes('/no/such'))
  })

  it('counts and times the responses of gateways', async () => {
    const token = await saveMethod(api, 'card_declined_later')
    await api.post('/api/v1/charges/recurring', chargeBody(token))
    const text = await read()
    const charge = { gateway: 'sandbox', operation: 'charge_saved' }
    assert.equal(metricValue(text, 'cowry_gateway_calls_total', { ...charge, outcome: 'declined' }), 1)
    assert.equal(metricValue(text, 'cowry_gateway_call_duration_seconds_count', charge), 1)
  })

  it('counts payments by status and attempts by failure code, sums what was collected, and times both ends', async () => {
    const card = { gateway: 'sandbox', channel: 'card' }
    const charged = { gateway: 'sandbox', channel: 'saved', failure_code: 'insufficient_funds' }
    const values = async () => {
      const text = await read()
      const kes = { ...card, kind: 'checkout', currency: 'KES' }
      return {
        successful: metricValue(text, 'cowry_payments_total', { ...kes, status: 'successful' }) ?? 0,
        failed:
          metricValue(text, 'cowry_payments_total', { kind: 'charge', channel: 'saved', status: 'failed' }) ??
          0,
        failures: metricValue(text, 'cowry_payment_failures_total', { ...charged, kind: 'charge' }) ?? 0,
        approved: metricValue(text, 'cowry_payment_attempts_total', { ...card, status: 'succeeded' }) ?? 0,
        declined: metricValue(text, 'cowry_payment_attempts_total', { ...charged, status: 'declined' }) ?? 0,
        amount: metricValue(text, 'cowry_payment_amount_total', { ...card, currency: 'KES' }) ?? 0,
        timed:
          metricValue(text, 'cowry_payment_time_to_final_seconds_count', { ...card, kind: 'checkout' }) ?? 0,
      }
    }
    const before = await values()
    const token = await saveMethod(api, 'card_declined_later', { amount: 12.5, currency: 'KES' })
    const charge = await api.post('/api/v1/charges/recurring', chargeBody(token, { currency: 'KES' }))
    assert.equal(charge.body.data.status, 'failed', charge.text)
    const now = await values()
    assert.deepEqual(
      Object.fromEntries(
        Object.entries(now).map(([name, value]) => [name, value - before[name as keyof typeof now]]),
      ),
      { successful: 1, failed: 1, failures: 1, approved: 1, declined: 1, amount: 12.5, timed: 1 },
    )
  })

  it('counts forged webhooks by gateway', async () => {
    const before =
      metricValue(await read(), 'cowry_gateway_webhook_signature_failures_total', { gateway: 'sandbox' }) ?? 0
    await anonymous.post('/hooks/sandbox', { id: 'made-up' })
    assert.equal(
      metricValue(await read(), 'cowry_gateway_webhook_signature_failures_total', { gateway: 'sandbox' }),
      before + 1,
    )
  })

  it('exports the last count of the invariants, shared by all processes', async () => {
    const { db } = service
    await checkWhenDue({ db, clock }, 7_200_000)
    assert.equal(
      metricValue(await readFresh(), 'cowry_invariant_check_age_seconds'),
      undefined,
      'it is not due yet',
    )
    await checkWhenDue({ db, clock }, 0)
    const text = await readFresh()
    const counted = text.match(/^cowry_invariant_violations\{invariant="invariant_\w+"\} 0$/gm) ?? []
    assert.ok(counted.length >= 9, text)
    assert.ok((metricValue(text, 'cowry_invariant_check_age_seconds') ?? -1) >= 0)
  })

  it('exports the amount and age of due work', async () => {
    await api.post('/api/v1/checkout/initiate-payment', initiateBody())
    assert.equal(metricValue(await readFresh(), 'cowry_job_backlog', { job_name: 'expire-checkouts' }), 0)
    clock.advance(2 * 3_600_000)
    const text = await readFresh()
    assert.equal(metricValue(text, 'cowry_job_backlog', { job_name: 'expire-checkouts' }), 1)
    const oldest = metricValue(text, 'cowry_job_oldest_due_seconds', { job_name: 'expire-checkouts' }) ?? 0
    assert.ok(oldest > 3_500 && oldest < 4_000, String(oldest))
  })

  it('exports the number of undelivered events', async () => {
    assert.equal(metricValue(await readFresh(), 'cowry_webhook_deliveries_pending'), 0)
    await api.post('/api/v1/webhooks/endpoints', { url: 'http://127.0.0.1:9/hook' })
    await api.post('/api/v1/checkout/initiate-payment', initiateBody())
    clock.advance(60_000)
    const text = await readFresh()
    assert.ok((metricValue(text, 'cowry_webhook_deliveries_pending') ?? 0) >= 1)
    assert.ok((metricValue(text, 'cowry_webhook_delivery_oldest_pending_seconds') ?? 0) >= 60)
    assert.ok((metricValue(text, 'cowry_job_backlog', { job_name: 'deliver-events' }) ?? 0) >= 1)
  })

  it('exports every metric that the dashboard and the docs name', async () => {
    const there = new Set([...(await read()).matchAll(/^# TYPE (\S+)/gm)].map(([, name]) => name))
    // These exist only with several workers, and with a trace collector.
    const sometimes = ['cowry_worker_up', 'cowry_worker_restarts_total', 'cowry_trace_spans_dropped_total']
    for (const name of sometimes) there.add(name)
    for (const page of ['docs/grafana-dashboard.json', 'docs/running-in-production.md']) {
      const named = namedIn(page)
      assert.ok(named.length > 8, page)
      assert.deepEqual(
        named.filter((name) => !there.has(name)),
        [],
        page,
      )
    }
  })
})

describe('GET /admin/v1/jobs', () => {
  it('requires the operator’s token to read jobs', async () => {
    assertApiError(await api.get('/admin/v1/jobs'), 'invalid_admin_token')
  })

  it('shows the due jobs and the pending deliveries', async () => {
    const { http, body } = await admin.get('/admin/v1/jobs')
    assert.equal(http, 200)
    assertKeys(body.data, ['jobs', 'deliveries', 'openCases', 'invariantsCheckedAt', 'invariants'])
    const jobs = body.data.jobs.map(({ name }: { name: string }) => name)
    assert.ok(jobs.includes('resolve-attempts') && jobs.includes('deliver-events'), jobs.join())
    assertKeys(body.data.deliveries, ['pending', 'oldestPendingAt', 'failingEndpoints'])
  })

  it('lets cowry doctor report jobs that no process runs', async () => {
    const run = async () => {
      let out = ''
      const take = (text: string) => {
        out += text
      }
      const env = { COWRY_URL: service.url, COWRY_ADMIN_TOKEN: ADMIN_TOKEN }
      return {
        code: await runCommandLine(['doctor'], { terminal: { out: take, err: take }, env }),
        out: () => out,
      }
    }
    const healthyRun = await run()
    assert.equal(healthyRun.code, 0, healthyRun.out())
    const { body } = await api.post('/api/v1/checkout/initiate-payment', initiateBody())
    const late = `update payments set due_at = now() - interval '10 minutes' where id = '${body.data.uuid}'`
    await service.db.script(late)
    const failingRun = await run()
    assert.equal(failingRun.code, 1, failingRun.out())
    assert.match(failingRun.out(), /job expire-checkouts +FAILED +\d+ due, the oldest for \d{3,} s/)
  })
})
