// The source texts of approval rates and health on home, of the developers' logs, and of live parts.

export const EN_DEVELOPERS = {
  // Home
  approvalTitle: 'Approval rate',
  approvalText:
    'Of the latest 1,000 attempts in 7 days, those that the gateway approved, of all that it decided. Attempts that the payer left are not counted.',
  approvalRate: 'Approved',
  healthTitle: 'Health',
  gatewaysUp: '{count, plural, one {The gateway responds.} other {All # gateways respond.}}',
  gatewaysDown:
    '{count, plural, one {{names} does not respond.} other {# gateways do not respond: {names}.}}',
  webhooksUp:
    '{count, plural, one {The webhook endpoint receives events.} other {All # webhook endpoints receive events.}}',
  webhooksDown:
    '{count} of {total, plural, one {# webhook endpoint} other {# webhook endpoints}} receive no events.',
  // Live parts. The script shows the number before the text.
  newPayments: 'new since this page was loaded.',
  showNew: 'Show them',
  // Request log
  apiRequestsTitle: 'Requests',
  apiRequestsText: 'The latest requests with your API keys: what was refused, why, and how long it took.',
  apiRequestsIntro:
    'Kept for a few days, without bodies. At more than 300 requests in a minute, some successful ones are left out. A request appears after about a second.',
  request: 'Request',
  apiRequestTitle: 'Request {id}',
  requestOutcome: 'Outcome',
  outcome_failed: 'Failed',
  requestId: 'Request ID',
  requestRoute: 'Route',
  requestStatus: 'Response',
  requestError: 'Error',
  requestErrorHelp: 'What to do about it',
  requestFields: 'Refused fields',
  requestDuration: 'Duration',
  requestReference: 'Reference',
  requestKey: 'API key',
  requestTime: 'Exact time',
  requestPayment: 'Find the payment',
  requestOthers: 'Requests with this key',
  apiNoRequestsTitle: 'No requests here',
  apiNoRequestsText: 'Requests with your API keys appear here a second after they were answered.',
  apiNoRequestText:
    'It is older than the log, it had no valid key, or it was one of very many successful ones in the same minute.',
  // Replays
  replayTitle: 'Send missed events again',
  replayText: 'Each event has the same id and body as before, so your server can drop those that it knows.',
  replayMissed: 'Only events that this endpoint has not accepted',
  replaySend: 'Send again',
  replayQueued: 'The events are being sent.',
  replayDone: 'All events of the period were handed over for delivery.',
  replayEvents: 'Events',
  replayLook: 'Look again',
  replayAccepted: 'Accepted',
  replayWaiting: 'Waiting for the first attempt',
  replayDead: 'Not delivered',
  replayCapped: 'The figures are of the first 2,000 events of the period.',
  // Failed deliveries and the health of an endpoint
  failedDeliveriesTitle: 'Failed deliveries',
  failedDeliveriesText: 'Events that your endpoints have not accepted, with the last response.',
  noFailedDeliveriesTitle: 'No failed deliveries',
  noFailedDeliveriesText: 'Your endpoints have accepted every event, or the first attempt is still to come.',
  endpointNoEvents: 'Choose at least one event, or all events.',
  resendNoSubscriber: 'No enabled endpoint is subscribed to this event.',
  lastAttempt: 'Last attempt',
  endpointDisabled: 'Disabled since',
  healthDay: 'In the last 24 hours',
  healthLatest: 'Of your latest 1,000 deliveries',
  healthCounts: '{delivered, number} delivered, {failing, number} failing, {dead, number} not delivered',
} as const
