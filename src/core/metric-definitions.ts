// Every metric that the service exposes to Prometheus: its name, type, labels and meaning. docs/generated/metrics.md is
// written from this table. With several workers, the metrics of a process also have the label `worker`.

type MetricType = 'counter' | 'gauge' | 'histogram'

export interface MetricDefinition<Type extends MetricType = MetricType> {
  name: string
  type: Type
  labels: readonly string[]
  help: string
}

const metric =
  <Type extends MetricType>(type: Type) =>
  (name: string, labels: readonly string[], help: string): MetricDefinition<Type> => ({
    name,
    type,
    labels,
    help,
  })

const counter = metric('counter')
const gauge = metric('gauge')
const histogram = metric('histogram')

export const METRICS = {
  httpRequests: counter(
    'cowry_http_requests_total',
    ['method', 'route', 'class'],
    'Requests, by how they ended.',
  ),
  httpRequestDuration: histogram(
    'cowry_http_request_duration_seconds',
    ['method', 'route'],
    'How long requests took, from the request head to the end of the response.',
  ),
  gatewayCalls: counter(
    'cowry_gateway_calls_total',
    ['gateway', 'operation', 'outcome'],
    'Calls of gateways, by how they ended.',
  ),
  gatewayCallDuration: histogram(
    'cowry_gateway_call_duration_seconds',
    ['gateway', 'operation'],
    'How long calls of gateways took.',
  ),
  gatewayTokenGrants: counter(
    'cowry_gateway_token_grants_total',
    ['gateway', 'outcome'],
    'Requests for access tokens of gateways, by how they ended: granted, refused, failed.',
  ),
  gatewayWebhookSignatureFailures: counter(
    'cowry_gateway_webhook_signature_failures_total',
    ['gateway'],
    'Webhooks whose signature was wrong.',
  ),
  payments: counter(
    'cowry_payments_total',
    ['kind', 'status', 'currency', 'gateway', 'channel'],
    'Payments and charges that reached a status at which they are not open. A late payment reaches two.',
  ),
  paymentFailures: counter(
    'cowry_payment_failures_total',
    ['kind', 'gateway', 'channel', 'failure_code'],
    'Payments and charges that failed, by failure code.',
  ),
  paymentAttempts: counter(
    'cowry_payment_attempts_total',
    ['gateway', 'channel', 'status', 'failure_code'],
    'Attempts whose end moved their payment or charge, by status. Approval rate: those that succeeded among those that succeeded or were declined.',
  ),
  paymentAmount: counter(
    'cowry_payment_amount_total',
    ['currency', 'gateway', 'channel'],
    'Collected money in major units of the currency, such as 12.50. Refunds are not subtracted. Reports are exact, this number is rounded.',
  ),
  paymentTimeToFinal: histogram(
    'cowry_payment_time_to_final_seconds',
    ['kind', 'gateway', 'channel'],
    'How long payments and charges were open, from their creation to their end.',
  ),
  webhookDeliveryAttempts: counter(
    'cowry_webhook_delivery_attempts_total',
    ['result'],
    'Delivery attempts of events to merchants, by result.',
  ),
  webhookDeliveriesPending: gauge(
    'cowry_webhook_deliveries_pending',
    [],
    'Webhook deliveries that are not final yet, up to 10000.',
  ),
  webhookDeliveryOldestPending: gauge(
    'cowry_webhook_delivery_oldest_pending_seconds',
    [],
    'Age of the oldest webhook delivery that is not final yet.',
  ),
  webhookEndpointsFailing: gauge(
    'cowry_webhook_endpoints_failing',
    [],
    'Enabled webhook endpoints without a successful delivery since a failed one, up to 10000.',
  ),
  jobBacklog: gauge(
    'cowry_job_backlog',
    ['job_name'],
    'Work of a background job that is due and not done, up to 10000.',
  ),
  jobOldestDue: gauge(
    'cowry_job_oldest_due_seconds',
    ['job_name'],
    'For how long the oldest due work of a background job has been due.',
  ),
  jobFailures: counter(
    'cowry_job_failures_total',
    ['job_name'],
    'Runs of background jobs that ended with an error.',
  ),
  casesOpen: gauge(
    'cowry_cases_open',
    ['owner'],
    'Open cases by who decides them, merchant or operator, each up to 10000.',
  ),
  invariantViolations: gauge(
    'cowry_invariant_violations',
    ['invariant'],
    'Rows that violate an invariant of the money, at the last check.',
  ),
  invariantCheckAge: gauge('cowry_invariant_check_age_seconds', [], 'Time since the last invariant check.'),
  databaseUp: gauge('cowry_database_up', [], 'Whether the database answers.'),
  cellUp: gauge('cowry_cell_up', ['cell'], 'Whether a cell takes statements. Only with several cells.'),
  dbPoolConnections: gauge(
    'cowry_db_pool_connections',
    ['state'],
    'Connections to PostgreSQL of the process.',
  ),
  workerUp: gauge('cowry_worker_up', ['worker'], 'Whether a worker answers. Only with several workers.'),
  workerRestarts: counter(
    'cowry_worker_restarts_total',
    [],
    'Workers that ended and were replaced. Only with several workers.',
  ),
  traceSpansDropped: counter(
    'cowry_trace_spans_dropped_total',
    [],
    'Spans that no collector took. Only with traces.',
  ),
  processCpu: counter('process_cpu_seconds_total', [], 'Processor time of the process.'),
  processMemory: gauge('process_resident_memory_bytes', [], 'Memory that the process has.'),
  processStart: gauge('process_start_time_seconds', [], 'When the process began, in Unix time.'),
  heapUsed: gauge('nodejs_heap_used_bytes', [], 'Memory that JavaScript uses.'),
  eventLoopDelay: gauge(
    'nodejs_eventloop_delay_seconds',
    ['quantile'],
    'How late the event loop was since the last scrape, beyond the resolution of the measurement.',
  ),
}
