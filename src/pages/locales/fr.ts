// French, as payment pages in West and Central Africa write it. The texts are machine-drafted and not yet reviewed by a
// native speaker. The space before : ; ? ! is U+00A0, so that no line begins with the sign.

import type { Messages } from './en.ts'

export const FR: Messages = {
  // The layout
  testMode: 'Mode test : aucun mouvement d’argent réel',
  language: 'Langue',
  help: 'Besoin d’aide ? Contactez {merchant}',
  helpWebsite: 'Site web',
  securedBy: 'Paiements gérés avec Cowry',
  neverSharePin: 'Ne communiquez jamais votre code PIN. Nous ne le demandons jamais sur cette page.',

  // The open checkout
  payTitle: 'Payer {amount} à {merchant}',
  payButton: 'Payer {amount}',
  howToPay: 'Comment souhaitez-vous payer ?',
  card: 'Carte',
  cardHint: 'Vous saisissez les données de votre carte sur la page sécurisée du prestataire de paiement.',
  savedMethodHint: 'Enregistré par {merchant}. Le débit a lieu dès que vous appuyez sur le bouton.',
  saveNotice:
    '{merchant} enregistre cette carte et peut la débiter à nouveau plus tard, comme convenu avec vous. Vous pouvez demander à {merchant} de la supprimer.',
  saveChoice:
    'Enregistrer cette carte. {merchant} peut la débiter à nouveau plus tard, comme convenu avec moi.',
  savedHint: '{merchant} l’a enregistré pour vous. Vous n’avez rien à saisir.',
  saveNumberNotice:
    '{merchant} demande à débiter à nouveau ce numéro plus tard, comme convenu avec vous. Vous l’approuvez une fois sur votre téléphone et pouvez demander à {merchant} d’y mettre fin.',
  saveNumberChoice:
    '{merchant} peut débiter à nouveau ce numéro plus tard, comme convenu avec moi. Je l’approuve une fois sur mon téléphone.',
  mobileMoney: 'Mobile Money',
  mobileMoneyHint: 'Une demande s’affiche sur votre téléphone. Vous la validez avec votre code PIN.',
  mobileMoneyPageHint:
    'Vous choisissez votre opérateur et vous payez sur la page du prestataire de paiement.',
  networkPageHint: 'Vous continuez sur la page ou dans l’application de {network}, puis vous revenez ici.',
  bankTransfer: 'Virement bancaire',
  bankTransferHint: 'Nous vous indiquons un compte où envoyer l’argent.',
  bankTransferPageHint: 'La page du prestataire de paiement vous indique un compte où envoyer l’argent.',
  phone: 'Numéro Mobile Money',
  phoneExample: 'Par exemple {example}',
  phoneInternational: 'Avec l’indicatif du pays, par exemple +254 712 345 678',
  network: 'Opérateur mobile',
  testOnly: 'test seulement',
  testOutcome: 'Mode test : que doit-il se passer ?',
  cancelAndReturn: 'Annuler et revenir',
  cancelPayment: 'Annuler le paiement',
  paymentFor: 'Motif',
  reference: 'Référence',
  amount: 'Montant',
  paidTo: 'Bénéficiaire',
  openUntil: 'Dernier délai pour payer ici : {time}.',
  closesSoon:
    'Cette page se ferme dans {minutes, plural, =0 {moins d’une minute} one {# minute} many {# de minutes} other {# minutes}}.',
  moreTime: 'Il me faut plus de temps',

  // Form errors
  problemTitle: 'Veuillez vérifier ceci',
  problemChoice: 'Choisissez comment vous souhaitez payer.',
  problemPhoneMissing: 'Saisissez votre numéro mobile.',
  problemPhoneShort: 'Ce numéro est trop court. Écrivez-le en entier, comme {example}.',
  problemPhoneLong: 'Ce numéro est trop long. Écrivez-le comme {example}.',
  problemPhoneText: 'Écrivez le numéro en chiffres, comme {example}.',
  problemPhoneLandline: 'Ce n’est pas un numéro mobile. Utilisez un numéro comme {example}.',
  problemPhoneForeign: 'Utilisez un numéro mobile de ce pays : {country}. Par exemple {example}.',
  problemPhoneCode: 'Écrivez le numéro avec l’indicatif du pays, comme {example}.',
  problemNetwork: 'Choisissez votre opérateur mobile : ce numéro ne permet pas de le reconnaître.',
  problemVisitor:
    'Trop de numéros différents ont été saisis depuis cette connexion Internet. Réessayez dans {minutes, plural, one {# minute} many {# de minutes} other {# minutes}}, ou payez autrement.',
  problemWaitMinutes:
    'Trop de demandes ont été envoyées à ce numéro. Réessayez dans {minutes, plural, one {# minute} many {# de minutes} other {# minutes}}, ou payez autrement.',
  problemWaitSeconds:
    'Une demande vient d’être envoyée à ce numéro. Réessayez dans {seconds, plural, one {# seconde} many {# de secondes} other {# secondes}}.',
  problemBusyMinutes:
    'Une demande de paiement attend déjà sur ce téléphone. Approuvez-la ou refusez-la là-bas, ou laissez-la expirer. Vous pourrez réessayer ici dans {minutes, plural, one {# minute} many {# de minutes} other {# minutes}} au plus tard.',
  problemBusySeconds:
    'Une demande de paiement attend déjà sur ce téléphone. Approuvez-la ou refusez-la là-bas, ou laissez-la expirer. Vous pourrez réessayer ici dans {seconds, plural, one {# seconde} many {# de secondes} other {# secondes}} au plus tard.',
  problemRefused: '{merchant} ne peut pas accepter ce paiement de votre part. Veuillez les contacter.',

  // Why an attempt was declined
  failureInsufficientFunds: 'Le solde ne suffit pas pour {amount} et les frais de votre banque ou opérateur.',
  failureDoNotHonor: 'Votre banque a refusé ce paiement.',
  failureCardExpired: 'Cette carte a expiré.',
  failureInvalidCard: 'Cette carte ne peut pas être utilisée ici.',
  failureAuthenticationRequired: 'Votre banque vous demande de valider ce paiement.',
  failureAuthenticationFailed: 'Votre banque n’a pas pu confirmer que c’était bien vous.',
  failureLimitExceeded: 'Ce paiement dépasse une limite de votre carte ou de votre portefeuille mobile.',
  failureSuspectedFraud: 'Ce paiement a été refusé.',
  failureCustomerCancelled: 'Le paiement n’a pas été validé.',
  failureCustomerTimeout: 'Nous n’avons pas reçu votre validation à temps.',
  failureWalletNotFound: 'Ce numéro n’a pas de compte Mobile Money.',
  failureProviderUnavailable: 'Le prestataire de paiement ne répond pas.',
  failureDuplicate: 'Le prestataire de paiement connaît déjà ce paiement.',
  failureUnknown: 'Le paiement n’a pas été accepté.',
  failureOperatorDeclined: 'Votre opérateur a refusé ce paiement.',
  failurePin: 'Le code PIN était incorrect, ou votre opérateur n’a pas pu confirmer que c’était bien vous.',
  failureTransferTimeout: 'L’argent n’est pas arrivé à temps.',
  adviceAgain: 'Réessayez, ou payez autrement.',
  adviceWhenReady: 'Réessayez quand vous aurez votre téléphone à portée de main.',
  adviceAnotherWay: 'Veuillez payer autrement.',
  adviceDifferentCard: 'Essayez une autre carte ou un autre moyen de paiement.',
  adviceTopUp: 'Rechargez votre compte et réessayez, ou payez autrement.',
  adviceApprove: 'Réessayez et validez le paiement.',
  adviceChangeNumber: 'Vérifiez le numéro, ou payez autrement.',
  adviceOnlyAgain: 'Réessayez.',
  adviceOnlyCard: 'Essayez une autre carte.',
  adviceOnlyTopUp: 'Rechargez votre compte et réessayez.',
  adviceOnlyNumber: 'Vérifiez le numéro et réessayez.',
  notCharged: 'Aucun montant n’a été débité.',

  // Waiting for the approval on the phone
  promptTitle: 'Regardez votre téléphone',
  promptOpen: 'Ouvrez sur votre téléphone la demande envoyée par {name}.',
  promptPin: 'Saisissez votre code PIN sur le téléphone.',
  promptWait: 'Attendez ici. Cette page affiche le résultat automatiquement.',
  promptSentTo: 'Envoyée au {phone}, {network}',
  promptDeadline: 'Validez-la avant {time}. C’est {network} qui fixe cette limite.',
  timeLeft: 'Temps restant',
  minuteLeft: 'Il reste une minute',
  secondsLeft: 'Il reste dix secondes',
  promptMissing: 'Vous n’avez pas reçu la demande ?',
  promptSignal: 'Vérifiez que votre téléphone est allumé et capte le réseau.',
  promptDial: 'Composez {code} et cherchez un paiement qui attend votre validation.',
  dial: 'Composer {code}',
  changeNumber: 'Changer de numéro ou payer autrement',
  onlyWithoutPin: 'Continuez seulement si vous n’avez pas saisi votre code PIN.',
  anotherWay: 'Payer autrement',
  onlyIfNotPaid: 'Continuez seulement si vous n’avez pas payé sur l’autre page.',
  onlyIfNotSent: 'Continuez seulement si vous n’avez pas envoyé l’argent.',
  checkNow: 'Vérifier maintenant',
  waiting: 'Nous attendons le résultat. Cette page l’affiche automatiquement.',

  // Waiting for a transfer
  transferTitle: 'Envoyez exactement {amount}',
  bank: 'Banque',
  accountNumber: 'Numéro de compte',
  accountName: 'Nom du compte',
  transferReference: 'Référence à indiquer',
  copy: 'Copier',
  copyWhat: 'Copier : {what}',
  copied: 'Copié',
  transferDeadline: 'Ce compte reçoit votre argent jusqu’à {time}. C’est la banque qui fixe cette limite.',
  transferLate: 'L’argent qui arrive plus tard est rattaché au paiement ou rendu.',
  haveSent: 'J’ai envoyé l’argent',
  lookingTitle: 'Nous cherchons votre virement',
  lookingText:
    'La plupart des banques ont besoin de quelques minutes. Cette page affiche le résultat automatiquement ; vous pouvez aussi la fermer.',
  showAccount: 'Revoir le compte',

  // A direct transfer to the merchant
  directBankTransfer: 'Virement bancaire à {merchant}',
  directMobileMoney: 'Mobile money à {merchant}',
  directHint:
    'Vous envoyez l’argent vous-même, directement à {merchant}, qui vérifie son arrivée. Cela peut prendre un moment.',
  directDeadline: 'Envoyez-le avant {time}.',
  directLookingTitle: '{merchant} vérifie votre transfert',
  directLookingText:
    'Le destinataire le cherche sur son compte. Cette page affiche le résultat toute seule ; vous pouvez aussi la fermer et revenir.',
  directRestTitle: '{paid} reçus sur {amount}',
  directRestText: 'Veuillez envoyer le reste, {rest}, au même compte, avec la même référence.',
  directRejectedText:
    '{merchant} n’a pas trouvé votre transfert. Si vous avez envoyé l’argent, montrez votre preuve et cette référence : {reference}',
  directExcessText: 'Vous avez envoyé {excess} de trop. Demandez-en le retour à {merchant}.',

  // The redirect to the provider's page, and unknown outcomes
  continueTitle: 'Continuez sur la page de paiement',
  continueText:
    'Vous payez {amount} à {merchant} sur {site}, la page du prestataire de paiement, puis vous revenez ici.',
  continueButton: 'Continuer vers {site}',
  momentTitle: 'Un instant',
  momentText:
    'Nous ne savons pas encore si ce paiement a abouti. Veuillez patienter et ne payez pas une deuxième fois.',
  slowTitle: 'Cela prend plus de temps que d’habitude',
  slowText:
    'Vous pouvez fermer cette page. Nous communiquons le résultat à {merchant}, et cette adresse l’affiche. Ne payez pas une deuxième fois, sauf si nous indiquons que le paiement a échoué.',

  // The end
  paidTitle: 'Paiement effectué',
  paidText: 'Vous avez payé {amount} à {merchant}.',
  method: 'Moyen de paiement',
  receiptNumber: 'Numéro de reçu',
  providerCode: 'Code du prestataire',
  time: 'Date et heure',
  status: 'Statut',
  returnTo: 'Retourner chez {merchant}',
  returnSoon:
    'Vous retournez chez {merchant} dans {seconds, plural, one {# seconde} many {# de secondes} other {# secondes}}.',
  stay: 'Rester ici',
  receipt: 'Reçu',
  showReceipt: 'Voir le reçu',
  print: 'Imprimer ou enregistrer',
  backToPayment: 'Retour au paiement',
  alreadyPaidTitle: 'Déjà payé le {time}',
  alreadyPaidText: 'Ce paiement est terminé. Il n’y a plus rien à payer.',
  paidLateTitle: 'Payé après le délai',
  paidLateText:
    'Votre argent est arrivé après la clôture de ce paiement. Nous avons prévenu {merchant} : veuillez demander ce que devient votre commande.',
  refundedText: 'Ce paiement a été remboursé.',
  partlyRefundedText: 'Une partie de ce paiement a été remboursée : {amount}.',
  disputedText: 'Votre banque examine ce paiement.',
  reversedText: 'Le prestataire de paiement a annulé ce paiement après coup.',
  failedTitle: 'Le paiement n’a pas abouti',
  failedText: 'Ce paiement est clos. Retournez chez {merchant} pour recommencer.',
  underpaidTitle: 'Nous avons reçu {paid} sur {amount}',
  underpaidText:
    'Il manque une partie de l’argent. Veuillez demander à {merchant} comment envoyer le reste ou récupérer votre argent. Ne payez pas une deuxième fois d’ici là.',
  overpaidTitle: 'Nous avons reçu {paid} au lieu de {amount}',
  overpaidText:
    'C’est plus que le montant demandé. Veuillez demander à {merchant} comment récupérer la différence. Ne payez pas une deuxième fois.',
  checkingTitle: 'Nous vérifions ce paiement',
  mismatchTitle: 'Nous avons reçu un montant différent',
  mismatchText: 'Veuillez demander à {merchant} que faire. Ne payez pas une deuxième fois d’ici là.',
  expiredTitle: 'Ce lien de paiement a expiré',
  expiredText: 'Retournez chez {merchant} pour obtenir un nouveau lien.',
  cancelledTitle: 'Paiement annulé',
  cancelledText: 'Vous pouvez fermer cette page, ou retourner chez {merchant} pour recommencer.',
  payAfterAll: 'Payer finalement',
  suspendedTitle: 'Paiements suspendus',
  suspendedText: '{merchant} ne peut pas accepter de paiements pour le moment.',
  ifSentMoney:
    'Si vous avez déjà validé ou envoyé de l’argent, il est rattaché au paiement ou rendu. Demandez à {merchant} avant de payer une deuxième fois.',

  // Paying at a link
  linkPayTo: 'Payer {merchant}',
  linkAmount: 'Montant en {currency}',
  linkAmountBetween: 'De {least} à {most}',
  linkAmountFrom: '{least} ou plus',
  linkAmountUpTo: '{most} au maximum',
  firstname: 'Prénom',
  lastname: 'Nom',
  email: 'Adresse e-mail',
  linkContinue: 'Continuer vers le paiement',
  linkNext: 'Vous choisissez comment payer à la page suivante.',
  problemFirstname: 'Saisissez votre prénom.',
  problemLastname: 'Saisissez votre nom.',
  problemEmail: 'Saisissez votre adresse e-mail.',
  problemAmount: 'Saisissez le montant en chiffres, par exemple {example}.',
  problemAmountLow: 'Saisissez {least} ou plus.',
  problemAmountHigh: 'Saisissez {most} ou moins.',
  problemCardNumber: 'N’écrivez jamais un numéro de carte ici. Saisissez votre nom.',
  linkPaidTitle: 'Ce paiement a déjà été effectué',
  linkFullTitle: 'Ce lien n’accepte plus de paiements',
  linkInactiveTitle: 'Ce lien n’est plus utilisé',
  linkEndedText: 'Si vous souhaitez encore payer, demandez un nouveau lien à {merchant}.',
  linkBusyTitle: 'Quelqu’un est en train de payer',
  linkBusyText:
    'Ce lien n’a pas de place pour un autre paiement tant que celui-ci est en cours. S’il n’aboutit pas, vous pourrez payer ici.',
  linkClosedTitle: 'Ce paiement est impossible pour le moment',
  linkClosedText: 'Réessayez plus tard, ou contactez {merchant}.',
  linkNotFoundTitle: 'Nous ne trouvons pas ce lien',

  // Error pages
  notFoundTitle: 'Nous ne trouvons pas ce paiement',
  notFoundText: 'Vérifiez l’adresse, ou demandez un nouveau lien à la boutique.',
  missingTitle: 'Il n’y a rien ici',
  missingText: 'Vérifiez l’adresse.',
  refusedTitle: 'Ce n’est pas possible',
  refusedText: 'Revenez en arrière et réessayez.',
  busyTitle: 'Trop de requêtes',
  busyText: 'Attendez un instant et réessayez.',
  errorTitle: 'Cela n’a pas fonctionné',
  errorText:
    'L’erreur vient de nous, pas de vous. Rouvrez cette page dans un instant pour voir où en est le paiement.',
  requestId: 'Requête {id}',
}
