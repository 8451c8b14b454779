// Every line that the service writes to its log: a stable key that operators alert on, the level, the message, the fields,
// and what to do about it. docs/generated/logs.md is written from this table.

export type LineLevel = 'debug' | 'info' | 'warn' | 'error'

interface LogLineDefinition {
  level: LineLevel
  message: string
  /** The fields that the line may carry; an error adds error, stack and sqlState. */
  fields: string
  /** What an operator does when the line appears. */
  action: string
}

const NONE = 'Nothing.'
const CASE = 'Read the open case (`cowry cases list`), look at the gateway, and resolve the case.'
const REPORT = 'An error of ours: report it with the stack.'

function line(level: LineLevel, message: string, fields: string, action: string): LogLineDefinition {
  return { level, message, fields, action }
}

const DEFINITIONS = {
  'api_key.in_url': line(
    'warn',
    'An API key was sent in a URL and refused.',
    'requestId, keyId',
    'URLs are stored in the logs of proxies: ask the merchant to revoke the key and to send keys in the x-api-key header.',
  ),
  'api_key.last_used_not_saved': line(
    'warn',
    'The last-used time of an API key was not saved.',
    'merchantId, keyId, error',
    'Check the database; the request itself was served.',
  ),
  'attempt.needs_review': line(
    'error',
    'An attempt needs manual review.',
    'merchantId, paymentId, attemptId, gateway',
    'Read the open case (`cowry cases list`), look up its key at the gateway, and resolve it. A webhook about this key triggers another status check.',
  ),
  'attempt.outcome_unknown': line(
    'info',
    'The outcome of an attempt is unknown; it is neither failed nor sent again before the gateway reports it.',
    'merchantId, paymentId, attemptId, gateway, reason',
    'If it happens often, check the health of the gateway.',
  ),
  'attempt.unchanged': line(
    'debug',
    'The response of the gateway does not end the attempt: the payer is still acting, or a later change is possible.',
    'merchantId, paymentId, attemptId, gateway, outcome',
    NONE,
  ),
  'attempt.unexpected_payment': line(
    'warn',
    'A payer paid another amount, or paid twice; the wallet is not credited.',
    'merchantId, paymentId, attemptId, gateway, reason',
    'Reason `duplicate_success`: nothing, it is refunded automatically. Reason `amount_mismatch`: nothing, a case is open, and the merchant decides about it.',
  ),
  'attempt.resolve_failed': line(
    'error',
    'The resolver failed on an attempt; its lease ends and it is claimed again.',
    'attemptId, error',
    REPORT,
  ),
  'case.opened': line(
    'warn',
    'A case was opened: a person must decide.',
    'merchantId, paymentId, attemptId, refundId, gateway, reason',
    'Read the case (`cowry cases show`) and resolve it. Its owner says whether the merchant or the operator decides: docs/cases.md.',
  ),
  'checkout.expiry_failed': line(
    'error',
    'Expiring a checkout failed; it is claimed again.',
    'paymentId, error',
    REPORT,
  ),
  'checkout.gateway_failover': line(
    'info',
    'The next gateway takes the attempt, because this one provably began nothing.',
    'merchantId, paymentId, gateway',
    'If it happens often, check the health of the gateway.',
  ),
  'cluster.worker_exited': line(
    'error',
    'A worker process exited by itself; the primary starts another.',
    'pid, reason',
    'Read the lines before it. SIGKILL usually means that memory ran out.',
  ),
  'database.connection_lost': line(
    'warn',
    'An idle database connection was lost; the pool replaces it.',
    'error',
    'Check the network and the database when it repeats.',
  ),
  'database.migrated': line('info', 'Migrations were applied.', 'count', NONE),
  'database.tenant_isolation_off': line(
    'warn',
    'Row-level security is not in force; queries still filter by merchant.',
    'reason',
    'Give the database role the rights that SECURITY.md names.',
  ),
  'dispute.unrecorded': line(
    'error',
    'The gateway reports a dispute that could not be recorded.',
    'merchantId, paymentId, attemptId, gateway, outcome',
    'No case is opened, and the ledger has no entry. Look up the dispute of the payment at the gateway.',
  ),
  'duplicate_payment.disputed': line(
    'error',
    'The payer disputes a duplicate payment.',
    'merchantId, paymentId, attemptId, gateway, reason',
    CASE,
  ),
  'duplicate_payment.not_refundable': line(
    'error',
    'The gateway cannot refund a duplicate payment.',
    'merchantId, paymentId, attemptId, gateway',
    CASE,
  ),
  'duplicate_payment.refund_failed': line(
    'error',
    'The refund of a duplicate payment failed.',
    'merchantId, paymentId, attemptId, refundId, gateway, status',
    CASE,
  ),
  'duplicate_payment.refund_not_recorded': line(
    'error',
    'Recording the refund of a duplicate payment failed; it is claimed again.',
    'attemptId, error',
    REPORT,
  ),
  'gateway.account_unusable': line(
    'error',
    'A gateway account cannot be used with its stored credentials.',
    'merchantId, gateway, error',
    'Save the credentials again (`cowry gateways set`).',
  ),
  'gateway.credentials_revoked': line(
    'info',
    'Gateway credentials were revoked.',
    'merchantId, gateway',
    NONE,
  ),
  'gateway.credentials_saved': line(
    'info',
    'Gateway credentials were saved.',
    'merchantId, gateway, outcome',
    NONE,
  ),
  'gateway.status_check_failed': line(
    'error',
    'A status check at the gateway failed with an error of ours; the stored state is returned.',
    'paymentId, gateway, error',
    REPORT,
  ),
  'gateway.token_error': line(
    'error',
    'An access token of a gateway could not be requested, read or stored. Payments use the last one while it is valid.',
    'gateway, error',
    'Check the database. If it works, report the line with its stack.',
  ),
  'gateway.token_failed': line(
    'warn',
    'A gateway granted no access token. Payments use the last one while it is valid; after that they are not sent.',
    'gateway, outcome, reason',
    '`refused`: check the credentials of the gateway. Otherwise check its status page; the service tries again by itself.',
  ),
  'gateway.token_granted': line('info', 'A gateway granted an access token.', 'gateway', NONE),
  'gateway.token_ration_used': line(
    'error',
    'There is no access token, and the gateway grants no other one yet. Payments are not sent to it until then.',
    'gateway, reason',
    'Find out why tokens were lost or failed (`gateway.token_failed`). Do not request tokens with the same account by other programs: the provider may block the account.',
  ),
  'gateway_webhook.report_ignored': line(
    'warn',
    'The report of a callback was not stored.',
    'gateway, reason',
    'another_report: the provider sent two different results for one payment or refund; compare both with its dashboard. ' +
      'too_large or not_proved: report it as a bug of the connector.',
  ),
  'gateway_webhook.signature_invalid': line(
    'warn',
    'Webhooks with an invalid signature were rejected.',
    'gateway, count',
    'Compare the webhook secret with the one in the dashboard of the gateway.',
  ),
  'http.csp_violation': line(
    'warn',
    'A browser reported a violation of the content security policy.',
    'requestId, reason',
    'A browser extension is the usual cause; report it when it names a file of ours.',
  ),
  'http.error_page_failed': line('error', 'Rendering an error page failed.', 'requestId, error', REPORT),
  'http.mounted_server_failed': line(
    'error',
    'The mounted sandbox provider failed on a request.',
    'requestId, route, error',
    REPORT,
  ),
  'http.address_rate_limited': line(
    'info',
    'Requests for pages or the documentation were refused: their address sends too many.',
    'address, count',
    NONE,
  ),
  'http.rate_limit_sync_failed': line(
    'warn',
    'Rate-limit buckets were not synchronised with the database; this process uses its own.',
    'error',
    'Check the database.',
  ),
  'http.request': line(
    'info',
    'request',
    'requestId, method, route, http, durationMs, address, merchantId, keyId, operatorId, errorCode',
    NONE,
  ),
  'http.probe': line(
    'debug',
    'request of a probe, of the log reader or of a browser report',
    'requestId, method, route, http, durationMs, address, operatorId',
    NONE,
  ),
  'http.request_failed': line(
    'error',
    'A request failed with an error of ours.',
    'requestId, route, error',
    REPORT,
  ),
  'http.request_unavailable': line(
    'warn',
    'A request was answered 503: the database did not answer in time.',
    'requestId, route, error',
    'Check the load and the locks of the database.',
  ),
  'job.failed': line(
    'error',
    'A background job failed; it runs again at its next time.',
    'job, error',
    'Check the database; report it when the database is healthy.',
  ),
  'log.lines_dropped': line(
    'warn',
    'Log lines were dropped, because the reader of the log was too slow.',
    'count',
    'Check what reads the log.',
  ),
  'mail.not_sent': line(
    'warn',
    'The mail server did not accept a mail.',
    'errorCode, status',
    'Check the SMTP settings and the mail server. The link in the mail can be copied from the page and sent by hand.',
  ),
  'metrics.read_failed': line(
    'warn',
    'The gauges could not be read from the database.',
    'error',
    'Check the database.',
  ),
  'passkey.sign_count_did_not_rise': line(
    'warn',
    'A passkey was refused: its count of uses did not rise.',
    'reason',
    'The passkey may have been copied. Ask the person in reason to remove it and to register another one.',
  ),
  'oidc.sign_in_refused': line('warn', 'The identity provider confirmed no person.', 'reason, error', NONE),
  'payment.moved': line(
    'info',
    'A payment moved to another state.',
    'merchantId, paymentId, gateway, status, reason',
    NONE,
  ),
  'refund.found_at_provider': line(
    'info',
    'A refund that was made at the provider was found there and booked.',
    'merchantId, paymentId, refundId, gateway, status',
    NONE,
  ),
  'refund.lookup_failed': line(
    'error',
    'A lookup of the refunds at a provider failed with an error; it is tried again.',
    'attemptId, gateway, error',
    REPORT,
  ),
  'refund.not_booked': line(
    'warn',
    'A refund that was made at the provider cannot be booked.',
    'merchantId, paymentId, attemptId, gateway, reason',
    'Compare the refunds of the payment in the dashboard of the gateway with those here. `exceeds_payment`: more was returned than is left of the payment.',
  ),
  'gateway.answer_unrecognized': line(
    'warn',
    'A gateway answered about a payment or a refund with a value that the service does not know.',
    'merchantId, paymentId, attemptId, refundId, gateway, reason',
    'The payment keeps its state, and the gateway is polled ever more rarely, at least once a day. Look at the payment in the dashboard of the gateway, and report the value (`reason`), so that the connector learns it.',
  ),
  'encryption.keys_retired': line(
    'info',
    'No value is encrypted with these older keys any more.',
    'reason',
    'Remove them from COWRY_ENCRYPTION_KEYS when every process has the new key first.',
  ),
  'encryption.value_unreadable': line(
    'error',
    'cowry keys reseal could not decrypt a value.',
    'merchantId, reason',
    'Its key is not on the keyring, or the row was changed outside of the service. Put the key back, and run it again.',
  ),
  'settings.weak_token': line(
    'warn',
    'A token of the settings can be guessed.',
    'reason',
    'Set the named setting to at least 32 random characters (openssl rand -base64 33). Production refuses such a token.',
  ),
  'gateway.none_configured': line(
    'warn',
    'No gateway is configured: only merchants with a gateway account of their own can collect payments.',
    '',
    'Set the credentials of a gateway (GATEWAY_…), or add accounts with cowry gateways set.',
  ),
  'postgres.exited': line(
    'error',
    'The embedded PostgreSQL exited by itself; it is started again.',
    'reason',
    'Remove the reason, such as a full disk. The log of PostgreSQL is in the data folder (postgres/server.log).',
  ),
  'postgres.restarted': line('info', 'The embedded PostgreSQL runs again.', '', NONE),
  'process.uncaught_exception': line(
    'error',
    'An exception was not caught; the process exits.',
    'error',
    REPORT,
  ),
  'process.unhandled_rejection': line(
    'error',
    'A rejection was not handled; the process exits.',
    'error',
    REPORT,
  ),
  'refund.completed': line(
    'info',
    'A refund reached its final state.',
    'merchantId, paymentId, attemptId, refundId, gateway, status',
    NONE,
  ),
  'refund.failed_late': line(
    'error',
    'The gateway reports a successful refund as failed.',
    'merchantId, paymentId, refundId, gateway',
    CASE,
  ),
  'refund.needs_review': line(
    'error',
    'A refund needs manual review.',
    'merchantId, paymentId, refundId, gateway, outcome, reason',
    'Read the open case (`cowry cases list`), look up its key at the gateway, and resolve it. The refund is still polled.',
  ),
  'refund.pending': line(
    'info',
    'A refund is not final yet; it is polled again.',
    'merchantId, paymentId, refundId, gateway, outcome, reason',
    NONE,
  ),
  'refund.resolve_failed': line(
    'error',
    'Resolving a refund failed; its lease ends and it is claimed again.',
    'refundId, error',
    REPORT,
  ),
  'refund.submit_failed': line(
    'error',
    'Submitting a refund failed with an error of ours; the background job resumes it.',
    'refundId, error',
    REPORT,
  ),
  'sandbox.poll_failed': line(
    'warn',
    'The sandbox could not read its due work.',
    'gateway, error',
    'Check the database.',
  ),
  'sandbox.client_aborted': line(
    'debug',
    'A client disconnected before the sandbox responded.',
    'gateway, error',
    NONE,
  ),
  'live.read_failed': line('warn', 'Open pages got no changes; they try again.', 'error', NONE),
  'request_log.write_failed': line('warn', 'Some requests were not logged.', 'count, error', NONE),
  'sandbox.request_failed': line('error', 'The sandbox failed on a request.', 'gateway, error', REPORT),
  'sandbox.webhook_dropped': line(
    'warn',
    'The sandbox dropped a webhook after its last retry.',
    'gateway',
    'Check that the service is reachable at its own address.',
  ),
  'sandbox.webhook_failed': line('error', 'The sandbox could not send a webhook.', 'gateway, error', REPORT),
  'service.not_ready': line('warn', '/readyz answered 503.', 'error', 'Check the database.'),
  'service.stop_failed': line('error', 'A step of the shutdown failed.', 'error', REPORT),
  'trace.export_failed': line(
    'warn',
    'Spans could not be exported and were dropped.',
    'count, reason',
    'Check the address and the health of the collector.',
  ),
  'transfer.expiry_failed': line(
    'error',
    'Expiring a transfer failed; it is claimed again.',
    'paymentId, error',
    REPORT,
  ),
  'webhook.delivery_crashed': line(
    'error',
    'A delivery attempt failed with an error of ours; its lease ends and it is claimed again.',
    'merchantId, endpointId, eventId, error',
    REPORT,
  ),
  'webhook.delivery_dead_lettered': line(
    'error',
    'A delivery is dead-lettered: the process crashed at every attempt.',
    'merchantId, endpointId, eventId',
    'Replay the event (`/api/v1/events/{uuid}/replay`) once the cause is found.',
  ),
  'webhook.delivery_failed': line(
    'debug',
    'A delivery attempt failed; it is retried with backoff.',
    'merchantId, endpointId, eventId, http, reason, durationMs',
    NONE,
  ),
  'webhook.endpoint_disabled': line(
    'warn',
    'A webhook endpoint was disabled after failing for days, or because it answered 410.',
    'merchantId, endpointId, reason',
    'Ask the merchant to correct and enable it.',
  ),
  'webhook.endpoint_secret_unreadable': line(
    'error',
    'The signing secret of an endpoint cannot be decrypted.',
    'merchantId, endpointId, eventId, error',
    'Check COWRY_ENCRYPTION_KEYS, or have the merchant rotate the secret.',
  ),
} satisfies Record<string, LogLineDefinition>

export type LogKey = keyof typeof DEFINITIONS

export const LOG_LINES: Readonly<Record<LogKey, LogLineDefinition>> = DEFINITIONS
