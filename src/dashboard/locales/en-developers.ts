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
} as const
