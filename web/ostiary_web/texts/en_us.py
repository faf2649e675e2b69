"""The texts of pages, lists, sheets, messages and the command line in English."""

from typing import Final

from ostiary_core.texts import ENGLISH

LANGUAGE: Final = ENGLISH.with_texts(
    {
        # --- around every page
        "page.skip": "Skip to the content",
        "page.administration": "Administration",
        "page.language": "Language",
        "page.privacy": "Privacy",
        "page.help": "Help",
        "page.code": "Code",
        "page.trace": "Trace id",
        "page.sign_out": "Sign out",
        "page.nav_online": "Online",
        "page.save": "Save",
        "page.cancel": "Cancel",
        "page.back": "Back",
        "page.of": "{action}: {name}",
        "page.done": "Saved.",
        "page.registered_done": "{name} is registered.",
        "page.enable_done": "{name} is enabled.",
        "page.disable_done": "{name} is disabled.",
        "page.delete_done": "{name} is deleted.",
        "page.force_done": "All sessions of {name} are ended.",
        "page.user_reset_done": "{name} has the new password, and chooses another at the next sign-in.",
        "page.user_second_factor_reset_done": "{name} has no second factor any more.",
        "page.user_unlock_done": "{name} may try again at once.",
        "page.client_end_old_done": "The old secret of {name} no longer works.",
        "page.sessions_ended": "{count} {count:one=session|other=sessions} ended.",
        "page.pressed_early": "This page had only just come to the front. If you meant it, press again.",
        "page.expired": "This page is too old",
        "page.expired_lead": "It was opened in another session, or too long ago. Nothing was changed.",
        "page.start_again": "Open it again",
        "page.form_answer": "This was the answer to a form",
        "page.form_answer_lead": "It cannot be opened by its address. Please fill in the form again.",
        "page.no_form": "This address takes no form",
        "page.no_form_lead": (
            "It is opened with GET, with its parameters in the address. The system that sent you here sent "
            "a form; nothing was changed."
        ),
        "page.not_found": "There is nothing here",
        "page.not_found_lead": "The address may be mistyped, or what was here is gone.",
        "page.not_yours": "You have no access to this page",
        "page.not_yours_lead": (
            "Your account does not have the permission for it. An administrator can give it to you."
        ),
        "page.too_large": "That is too large",
        "page.too_large_lead": (
            "Nothing was changed. A picture may have 2 MiB, a file to import 8 MiB, a form less. "
            "Go back, and send less."
        ),
        "page.too_slow": "That came too slowly",
        "page.too_slow_lead": "Nothing was changed. Go back, and send it again over a faster connection.",
        "page.too_fast": "Too many requests",
        "page.too_fast_lead": "Wait a moment and try again.",
        "page.too_long": "This address is too long",
        "page.too_long_lead": "The system that sent you here asked for more than fits into an address.",
        "page.went_wrong": "Something went wrong on our side",
        "page.went_wrong_lead": "It has been logged under the trace id below. Try again in a moment.",
        "page.home": "Home",
        # --- signing in, the password, the first page
        "page.sign_in": "Sign in",
        "page.sign_in_for": "to continue to {name}",
        "page.sign_in_lead": "Use your account of the administration backend.",
        "page.form_of_another_tab": (
            "This page was opened again in another tab, or a long time ago. Please try again from here."
        ),
        "page.form_without_cookie": (
            "No cookie came with this form: this browser keeps none, or it was open for too long. Allow "
            "cookies for this site and try again from here."
        ),
        "page.username": "User name",
        "page.password": "Password",
        "page.forgot": "Forgot your password?",
        "page.home_signed_in": "Welcome, {name}",
        "page.home_signed_out": "You are not signed in",
        "page.home_lead": (
            "This server signs you in to other systems with your account of the administration backend. The "
            "system you came from will bring you to the right page by itself."
        ),
        "page.change_password": "Change password",
        "page.must_change": "Your password is a temporary one. Choose your own before you go on.",
        "page.password_ends": "Everywhere else you are signed in, you will be signed out.",
        "page.current_password": "Current password",
        "page.new_password": "New password",
        "page.new_password_hint": "8 characters or more",
        "page.recover": "Set a new password",
        "page.recover_lead": "We send a code to the telephone number of your account.",
        "page.phone": "Telephone number",
        "page.send_code": "Send the code",
        "page.text_code": "Code from the text message",
        "page.code_sent": (
            "If the number belongs to an account, a code is on its way to it. It is good for {count} "
            "{count:one=minute|other=minutes}."
        ),
        "page.resend": "Send another code",
        "page.resend_in": "No code yet? Another one can be sent in {duration}.",
        "page.recover_code_lead": "Enter the code from the text message, and a new password.",
        "page.try_again_in": "You can try again in {duration}.",
        "page.have_code": "I already have a code",
        "page.invitation": "Choose a password",
        "page.invitation_lead": "You were invited. With the password that you choose here you can sign in.",
        "page.invitation_code": "Invitation",
        "page.invitation_code_hint": "The whole link that you were given, or the part behind its #",
        "page.invitation_accept": "Set the password",
        "page.signed_out": "You were signed out. Sign in to go on where you were.",
        "page.signed_out_kept": (
            "You were signed out. What you entered is kept: sign in, and the form comes back filled in."
        ),
        "page.filled_again": (
            "What you had entered is filled in again, without passwords. Nothing was sent yet."
        ),
        "page.menu": "Menu",
        "page.more_actions": "More",
        "page.recovered": "Your new password is set. Sign in with it.",
        "page.back_to_sign_in": "Back to sign-in",
        # --- whether an application may sign the user in
        "page.asks": "wants to sign you in",
        "page.will_be_able": "If you agree, it can:",
        "page.wont_be_able": "It will not see your password and cannot change anything here.",
        "page.leads_to": "You will be taken to {address}.",
        "page.withdraw_later": "You can withdraw this at any time under My applications.",
        "page.approve": "Agree and go on",
        "page.deny": "Decline",
        "page.signed_in_as": "Signed in as",
        "page.switch_user": "Use another account",
        "page.consent_failed": "This sign-in request cannot go on",
        "page.consent_failed_lead": (
            "The system that sent you here made an invalid request. Nothing was shared with it. "
            "Its developers will want to know:"
        ),
        # --- people's own account
        "page.account": "My account",
        "page.account_lead": "Other systems see your user name, display name, picture and language.",
        "page.profile": "Profile",
        "page.display_name": "Name",
        "page.display_name_hint": "An administrator can change it.",
        "page.picture": "Picture",
        "page.picture_hint": "PNG, JPEG or WebP, at most 2 MiB and 4096 by 4096 pixels",
        "page.picture_made_smaller": "A larger one, up to 10 MB, is made smaller before it is sent.",
        "page.picture_too_large": "This picture has more than 10 MB.",
        "page.picture_none": "No picture yet",
        "page.upload": "Upload",
        "page.picture_remove": "Remove",
        "page.chosen_language_none": "Browser's language",
        "page.chosen_zone": "Time zone",
        "page.times_in": "All times are in the time zone {zone}.",
        "page.zone_proposed": "Your browser is in the time zone",
        "page.zone_done": "From the next page on, times are in the time zone",
        "page.zone_use": "Show times in it",
        "page.zone_keep": "Keep {zone}",
        "page.security": "Security",
        "page.phone_none": "none",
        "page.change_phone": "Change telephone number",
        "page.new_phone": "New telephone number",
        "page.phone_code_sent": "If the number is free, a code of six digits is on its way to it.",
        "page.second_factor": "Second factor",
        "page.second_factor_on": "set up",
        "page.second_factor_manage": "Change second factor",
        "page.second_factor_set_up": "Set up a second factor",
        "page.second_factor_about": (
            "With a second factor, signing in takes a code from an authenticator on your telephone as well "
            "as your password. You need an authenticator app, and the password to begin."
        ),
        "page.second_factor_ends": "Everywhere else you are signed in, you will be signed out.",
        "page.second_factor_must": "Your account must have a second factor before you go on.",
        "page.second_factor_required": "Your account must have a second factor before you can sign in.",
        "page.second_factor_scan": "1. Scan this with your authenticator",
        "page.second_factor_picture": "QR code with the secret of your second factor",
        "page.second_factor_type": "Or type this secret:",
        "page.second_factor_first_code": "3. Enter the code that the authenticator shows",
        "page.second_factor_confirm": "Confirm",
        "page.second_factor_lead": "Your password is right. One more step.",
        "page.second_factor_code": "Code from the authenticator",
        "page.second_factor_code_hint": (
            "Each code works once. If you lost both, ask an administrator to reset your second factor."
        ),
        "page.second_factor_on_lead": "Signing in takes a code as well as your password.",
        "page.second_factor_remove": "Remove the second factor",
        "page.second_factor_remove_lead": (
            "Signing in then takes your password alone. If your account must have a second factor, you are "
            "signed out and set up another one. Everywhere else you are signed out in any case."
        ),
        "page.recovery_codes": "2. Keep these recovery codes",
        "page.recovery_codes_hint": (
            "Each of them signs you in once when the authenticator is not at hand. Keep them where only you "
            "find them: they are not shown again."
        ),
        "page.recovery_codes_shown": "New recovery codes",
        "page.recovery_codes_new": "Get new recovery codes",
        "page.recovery_codes_new_lead": "The codes you have now stop working.",
        "page.recovery_codes_left": "Recovery codes left",
        "page.recovery_codes_left_of_yours": "You have {count} recovery {count:one=code|other=codes} left.",
        "page.show_password": "Show",
        "page.hide_password": "Hide",
        "page.second_factor_open": "Open in the authenticator on this device",
        "page.recovery_code": "Recovery code",
        "page.recovery_code_instead": "Use a recovery code",
        "page.recovery_codes_name": "the recovery codes",
        "page.recovery_codes_file": "Save as a file",
        "page.recovery_codes_of": "Recovery codes for {name}. Each works once.",
        "page.recovery_codes_kept": "I have kept them",
        "page.user_is_yourself": "Change your password, telephone number and second factor under My account",
        "page.user_second_factor_reset": "Reset second factor",
        "page.user_second_factor_reset_will": (
            "{name} signs in with the password alone until another second factor is set up. All sessions of "
            "the user end."
        ),
        "page.applications": "My applications",
        "page.applications_lead": "Systems that you allowed to sign you in, and what they may see.",
        "page.applications_none": "No application may sign you in yet.",
        "page.applications_none_lead": (
            "When you sign in to another system with this account, it appears here."
        ),
        "page.allowed_since": "Allowed since",
        "page.not_remembered": "Approved automatically",
        "page.may_see": "May see",
        "page.withdraw": "Withdraw",
        "page.withdraw_sure": "Withdraw from {name}?",
        "page.withdraw_will": (
            "It is signed out of your account at once ({count} running {count:one=session|other=sessions}), "
            "and must ask you again."
        ),
        "page.sessions": "My sessions",
        "page.sessions_lead": (
            "Each line is a browser or application in which you are signed in. Sign out any you do not know."
        ),
        "page.this_session": "this one",
        "page.browser_session": "This server's pages",
        "page.signed_in_at": "Since",
        "page.last_seen": "Last seen",
        "page.until": "Until",
        "page.address": "Address",
        "page.device": "Browser or program",
        "page.end_session": "Sign out",
        "page.elsewhere": "Sign out everywhere else",
        "page.elsewhere_sure": "Sign out everywhere else?",
        "page.elsewhere_will": (
            "Other browsers, applications and personal access tokens end at once. You stay signed in here. "
            "If others may know your password, change it instead: that ends the same."
        ),
        "page.sign_ins": "Latest sign-ins",
        "page.sign_ins_lead": "If one of these was not you, change your password.",
        "page.sign_in_at": "When",
        "page.sign_in_outcome": "Outcome",
        "page.sign_in_succeeded": "Signed in",
        "page.sign_in_failed": "Failed",
        "page.sign_in_code_failed": "Password right, code wrong",
        "page.sign_in_stopped": "Password right, no code",
        "page.prove": "Confirm that it is you",
        "page.prove_lead": (
            "This gives a user power over accounts, and you signed in some time ago. Confirm who you are, "
            "and it goes on as you filled it in."
        ),
        "page.prove_hint": (
            "Asked again because you signed in some time ago. It counts for a while in this browser."
        ),
        "page.prove_password": "Your own password",
        "page.prove_go_on": "Confirm and go on",
        "page.prove_password_again": "The password that you entered is not kept. You are asked for it again.",
        "page.tokens": "Personal access tokens",
        "page.tokens_lead": (
            "For programs that administer in your name over the interface. A token does what you chose for "
            "it, as long as you may do it yourself. All of them end when you change your password or "
            "telephone number."
        ),
        "page.tokens_none": "You have none.",
        "page.tokens_no_permission": "You have no permission of the administration to give to a token.",
        "page.token": "Access token {name}",
        "page.token_new": "The new token",
        "page.token_once": "It is shown only now. Keep it where the program that needs it can read it.",
        "page.token_make": "Create a token",
        "page.token_fingerprint": "SHA-256: {digits}…",
        "page.token_name_hint": "Which program it is for, and where.",
        "page.token_permissions_hint": "As few as the program needs.",
        "page.token_lifetime": "Good for",
        "page.token_created": "Created",
        "page.token_last_used": "Last used",
        "page.token_expires": "Expires",
        "page.token_end": "End",
        "page.token_end_sure": "End the token {name}?",
        "page.token_end_will": "Programs that use it are refused from now on.",
        "page.never": "Never",
        # --- the administration
        "page.search": "Search",
        "page.apply": "Apply",
        "page.filters": "More filters",
        "page.ago_now": "just now",
        "page.ago_minutes": "{count} {count:one=minute|other=minutes} ago",
        "page.ago_hours": "{count} {count:one=hour|other=hours} ago",
        "page.ago_days": "{count} {count:one=day|other=days} ago",
        "page.ago_months": "{count} {count:one=month|other=months} ago",
        "page.ago_years": "{count} {count:one=year|other=years} ago",
        "page.show_all": "Show all",
        "page.any": "any",
        "page.yes": "yes",
        "page.no": "no",
        "page.from": "from",
        "page.to": "to",
        "page.actions": "Actions",
        "page.pages": "Pages",
        "page.page_before": "Previous",
        "page.page_after": "Next",
        "page.page_of": "{count} {count:one=record|other=records} · page {number} of {pages}",
        "page.page_last": "Last page",
        "page.nothing_found": "Nothing matches",
        "page.nothing_on_page": "Nothing is on this page",
        "page.edit": "Edit",
        "page.delete": "Delete",
        "page.enable": "Enable",
        "page.disable": "Disable",
        "page.enabled": "Enabled",
        "page.disabled": "Disabled",
        "page.export": "Export",
        "page.import": "Import",
        "page.import_lead": (
            "An exported sheet, or the filled-in template. Either all of it is imported, or nothing."
        ),
        "page.import_file": "Sheet (.xlsx or .csv)",
        "page.import_mode": "Records that already exist",
        "page.import_insert": "are an error: only register new ones",
        "page.import_upsert": "are changed to what the sheet says",
        "page.import_template": "Template",
        "page.import_done": "{created} registered, {updated} changed, {unchanged} unchanged.",
        "page.select": "Select {name}",
        "page.select_page": "Select this page",
        "page.select_all": "All {count}",
        "page.select_matching": "All {count} that match",
        "page.select_none": "Select none",
        "page.selected_count": "{count} selected",
        "page.selected_heading": "{action}: {count} selected",
        "page.selected_all_heading": "{action}: all {count} that match",
        "page.selected_unfiltered": "No filter: the whole list.",
        "page.selected_none": "Nothing was selected, so nothing was done.",
        "page.selected_changed": "Another number matches now than before: please look again.",
        "page.selected_first": (
            "{count} match. At most {most} are taken at once, the first ones in the order of the list: "
            "filter for the others."
        ),
        "page.selected_too_many": (
            "Only the first {count} are taken, as no more are selected one by one. "
            "All that match may be more."
        ),
        "page.selected_enabled": "{count} enabled.",
        "page.selected_disabled": "{count} disabled.",
        "page.selected_deleted": "{count} deleted.",
        "page.selected_same": "{count} {count:one=was|other=were} so already.",
        "page.selected_refused": "{count} refused: {names}. {reason}",
        "page.selected_not_yourself": "You cannot do this to yourself: ask another administrator.",
        "page.chosen_none": "Nothing was chosen, so nothing was done.",
        "page.roles_change": "Give or take roles",
        "page.roles_change_will": (
            "What is chosen below is given to and taken from each of them; their other roles stay. It holds "
            "from their next request on."
        ),
        "page.roles_give": "Give",
        "page.roles_take": "Take",
        "page.roles_changed": "The roles of {count} {count:one=user|other=users} are changed.",
        "page.role_change_holders": "Give or take roles of all who have it",
        "page.role_still_held": (
            "{count} {count:one=user has|other=users have} this role. It can be deleted once no user has it."
        ),
        "page.selected_left": "{count} were not reached in time: please do it once more.",
        "page.and_more": "and {count} more",
        "page.never_signed_in": "Never signed in",
        "page.filter_remove": "Filter {filter}: remove it",
        "page.page_size": "Rows",
        "page.page_size_show": "Show",
        "page.selected_enable_will": "They can be used again. What ended stays ended.",
        "page.selected_disable_will": "They can no longer be used, and all their sessions end at once.",
        "page.selected_delete_will": "They are deleted for good, and all their sessions end at once.",
        "page.import_preview": "Preview",
        "page.import_without_password": (
            "{count} new {count:one=user has|other=users have} no password and cannot sign in yet."
        ),
        "page.import_would": (
            "Nothing was done yet. The import would register {created}, change {updated} and leave "
            "{unchanged} unchanged."
        ),
        "page.import_row": "Row",
        "page.import_record": "Record",
        "page.import_outcome": "Would be",
        "page.import_changes": "Values",
        "page.import_created": "registered",
        "page.import_updated": "changed",
        "page.import_more": "{number} more rows would change something.",
        "page.import_same_file": "This file is too long to be kept. To import, choose it again.",
        "page.import_kept": "Kept for an hour: {name}",
        "page.import_another": "Another sheet in its place (.xlsx or .csv)",
        "page.import_hashes_left": "Password hashes of existing users were left unchanged: {number}.",
        "page.import_running": (
            "{prepared} of {rows} rows are prepared. Nothing is added before all of them are; this page "
            "refreshes itself, and the import goes on without it."
        ),
        "page.import_lost": (
            "The server that ran this import is gone, after {prepared} of {rows} rows. Either nothing was "
            "imported or everything: look at the list, and import the sheet again if it is not there."
        ),
        "page.users_left_out": (
            "{count} users match, and the list shows the first {most}. Type more of the name or the number."
        ),
        "page.filter_means": (
            "{filter}: “{typed}” is in the names of {count} {count:one=user|other=users}, "
            "and any of them counts: {names}."
        ),
        "page.filter_means_more": (
            "{filter}: “{typed}” is in the names of {count} {count:one=user|other=users}, "
            "and any of them counts: {names}, and {more} more."
        ),
        "page.filter_means_first": (
            "{filter}: “{typed}” is in the names of {count} users, and only the first {most} of them count: "
            "{names} …. Type more of the name."
        ),
        "page.working": "Working…",
        "page.stands_now": "Changed meanwhile to: {value}. Save again to overwrite it.",
        "page.nothing": "nothing",
        "page.clients": "Clients",
        "page.clients_lead": "Systems that may ask this server for tokens.",
        "page.clients_none": "No client is registered yet",
        "page.client_new": "Register a client",
        "page.client_new_lead": "The secret is shown once, right after registration.",
        "page.client_register": "Register",
        "page.client_hint_seconds": (
            "{least} ({least_words}) to {most} ({most_words}); {default} ({default_words}) if left empty"
        ),
        "page.client_hint_seconds_kept": (
            "{least} ({least_words}) to {most} ({most_words}); unchanged if left empty"
        ),
        "page.client_built_in": "Built in; it cannot be changed.",
        "grant.authorization_code": "authorization_code: sign users in",
        "grant.refresh_token": "refresh_token: keep them signed in beyond the access token",
        "grant.client_credentials": "client_credentials: act for itself, without a user",
        "page.client_secret": "Secret",
        "page.client_secret_once": "Copy the secret now. Only its digest is kept; it cannot be shown again.",
        "page.copy_it": "Copy",
        "page.copied": "Copied",
        "page.client_reset": "Reset the secret",
        "page.client_endpoints": "Endpoints",
        "page.client_endpoints_lead": (
            "What the client's developers enter in their settings; client_secret_post works too."
        ),
        "page.endpoint_authorize": "Authorize",
        "page.endpoint_token": "Token",
        "page.endpoint_introspect": "Introspect",
        "page.endpoint_revoke": "Revoke",
        "page.endpoint_userinfo": "User-info",
        "page.endpoint_pkce": "PKCE method",
        "page.endpoint_authentication": "Client authentication",
        "page.client_snippets": "For its developers",
        "page.client_snippets_lead": "With this client's own values; put the secret in place of $SECRET.",
        "page.client_hint_id": "Letters, digits, dots, hyphens, underscores; it cannot be changed later.",
        "page.client_hint_uris": (
            "One per line, exactly as the client sends them; https, or http on localhost and 127.0.0.1."
        ),
        "page.client_hint_automatic": "Users are not asked for these.",
        "page.client_disable_will": (
            "It can no longer authenticate. {count} running {count:one=session|other=sessions} that you may "
            "see {count:one=ends|other=end} at once, and enabling the client again brings nothing "
            "back."
        ),
        "page.client_force": "End all sessions",
        "page.client_force_will": (
            "{count} running {count:one=session|other=sessions} that you may see {count:one=ends|other=end} "
            "at once, and codes that were not redeemed are void. The client stays enabled, and its secrets "
            "keep working."
        ),
        "page.client_delete_will": (
            "It is gone for good, and its identifier is never given out again. {count} running "
            "{count:one=session|other=sessions} that you may see {count:one=ends|other=end} at once."
        ),
        "page.client_reset_will": (
            "The old secret stops working at once, or when the time chosen here is over. If two work now and "
            "the newer has never been used, the older is kept and the newer replaced. Issued tokens stay "
            "good: {count} running {count:one=session|other=sessions} that you may see "
            "{count:one=goes|other=go} on."
        ),
        "page.client_overlap": "Keep the old secret for",
        "page.client_overlap_none": "no time: it ends at once",
        "page.hours": "{count} {count:one=hour|other=hours}",
        "page.days": "{count} {count:one=day|other=days}",
        "page.client_end_old": "End the old secret",
        "page.client_end_old_will": (
            "Systems that still use the old secret can no longer authenticate. {count} running "
            "{count:one=session|other=sessions} that you may see {count:one=goes|other=go} on."
        ),
        "page.users": "Users",
        "page.users_lead": "Who can sign in to this backend, and with which roles.",
        "page.users_none": "There are no users yet",
        "page.users_only_you": "You are the only user yet",
        "page.user_new": "Register a user",
        "page.user_initial_password": "First password",
        "page.user_initial_password_hint": (
            "8 characters or more. The user has to choose another at the first sign-in."
        ),
        "page.user_reset": "Set a new password",
        "page.user_reset_will": (
            "{name} must choose another password at the next sign-in. {count} running {count:one=session "
            "ends|other=sessions end} at once."
        ),
        "page.user_force": "Sign out everywhere",
        "page.user_force_will": (
            "{name} is signed out in browsers and applications alike: {count} running {count:one=session "
            "ends|other=sessions end} at once."
        ),
        "page.user_invite": "Invite",
        "page.user_invite_will": (
            "A link lets {name} set a password, once, for 72 hours. It replaces the invitation before. What "
            "is signed in stays so until the link is used."
        ),
        "page.invitations": "Invitations",
        "page.invitation_links": "Links",
        "page.invitation_link": "Link",
        "page.invitation_once": (
            "Give each link to its user now, and privately. Only digests are kept; the links cannot be shown "
            "again."
        ),
        "page.invitation_until": "Invitation good until",
        "page.invitation_by_text": "Send it by text message to the user's telephone number",
        "page.invitations_by_text": "Send them by text message to users with a telephone number",
        "page.invitations_sent": (
            "{number} {number:one=invitation goes|other=invitations go} by text message."
        ),
        "page.invitations_make": "Invite all of them",
        "page.user_unlock": "Unlock",
        "page.failed_sign_ins": "Failed sign-ins",
        "page.failed_count": "{count} failed {count:one=try is|other=tries are} remembered.",
        "page.failed_waits_everywhere": "No further try is taken before",
        "page.failed_tries": "Failed tries",
        "page.failed_waits_until": "Waits until",
        "page.failed_lead": (
            "As this server process counts them; another one may count others. One is forgotten each minute. "
            "Unlock takes the waits back in every process, but not those of an address that failed under "
            "many names."
        ),
        "page.failed_since": "Counted since",
        "page.user_applications": "Applications that may sign this user in",
        "page.user_withdraw_will": (
            "{name} is signed out of it at once ({count} running {count:one=session|other=sessions}), and it "
            "must ask again. The audit trail says who withdrew."
        ),
        "page.user_disable_will": (
            "{name} can no longer sign in. {count} running {count:one=session ends|other=sessions end} at "
            "once, and enabling the user again brings nothing back."
        ),
        "page.user_delete_will": (
            "{name} is deleted for good. {count} running {count:one=session ends|other=sessions end} at once."
        ),
        "page.user_phone_ends": "Another number ends all sessions of the user.",
        "page.roles": "Roles",
        "page.roles_lead": "Named sets of permissions.",
        "page.roles_none": "No roles are registered yet",
        "page.role_new": "Register a role",
        "page.role_holders": "{count} {count:one=user has|other=users have} this role ({enabled} enabled).",
        "page.role_held_by": "Who has it",
        "page.role_all_holders": "All {count}",
        "page.includes_yourself": "This includes yourself: you are signed out at once.",
        "page.out_of_reach": "Only administrators with all of its permissions can change it: you lack some.",
        "page.role_built_in": "Built in: it holds every permission and cannot be changed.",
        "page.role_delete_will": "The role {name} is deleted. That works only while no user has it.",
        # --- the overview
        "page.overview": "Overview",
        "page.overview_lead": "What happened, and what needs attention. Figures lag by a minute or two.",
        "page.overview_warnings": "{count} {count:one=warning|other=warnings}",
        "page.overview_acknowledged": "{count} acknowledged {count:one=warning|other=warnings}",
        "page.overview_acknowledge": "Acknowledge",
        "page.overview_acknowledged_by": "Acknowledged by {name}",
        "page.overview_folded": "The warning is folded away for {count} days.",
        "page.overview_change": "{change} on the time before",
        "page.overview_as_before": "as in the time before",
        "page.overview_range": "How long",
        "overview.day": "24 hours",
        "overview.week": "7 days",
        "overview.month": "30 days",
        "page.overview_attention": "What needs attention",
        "page.overview_no_attention": "Nothing needs attention.",
        "page.open_client": "Open the client",
        "page.open_entries": "Show the audit entries",
        "page.open_sessions": "Show the sessions",
        "page.overview_nothing": "Nothing in this time: {what}.",
        "page.overview_table": "As a table",
        "page.overview_time": "From",
        "page.overview_others": "All others",
        "page.overview_running_now": "Running sessions now",
        "overview.running": "Running sessions",
        "page.overview_running_note": "Peak of hourly samples, including now.",
        "overview.sign_ins": "Sign-ins",
        "overview.failed": "Failed sign-ins",
        "overview.started": "Client sessions",
        "overview.ended": "Ended sessions",
        "page.overview_ended_together": (
            "{count} more bulk {count:one=ending|other=endings} (user, client or consent)."
        ),
        "overview.refreshed": "Refreshes",
        "overview.retried": "Safe retries",
        "page.overview_retried_note": "They came {mean} s late on average, and {most} s at most.",
        "page.overview_late": "{least} to {most} s late",
        "overview.refused": "Refusals",
        "page.overview_refused_note": "Requests of clients and of the consent page.",
        "overview.login": "Login sessions",
        "overview.authorization_code": "On behalf of a user",
        "overview.client_credentials": "For the client itself",
        "overview.personal_token": "Personal access tokens",
        "page.overview_clients": "Refusals and safe retries by client",
        "page.overview_late_ones": "More than {seconds} s late",
        "page.overview_longest": "Longest (s)",
        "page.overview_state": "This server",
        "page.overview_version": "Version",
        "page.overview_schema": "Schema",
        "page.overview_swept": "Last clean-up finished",
        "page.overview_backup": "Last backup",
        "page.overview_uncounted": "Entries not counted yet",
        "page.attention_secrets": (
            "{count} {count:one=request|other=requests} came with a wrong secret of the client {name}."
        ),
        "page.attention_late": (
            "{count} safe {count:one=retry|other=retries} of the client {name} came more than {seconds} s "
            "late: a little later, and {count:one=its session ends|other=their sessions end}."
        ),
        "page.attention_sweep": "Clean-up is behind: it has not finished for an hour.",
        "page.attention_uncounted": (
            "{count} {count:one=entry|other=entries} of the audit trail {count:one=is|other=are} not counted "
            "yet."
        ),
        "page.attention_no_backup": "No backup has been made with ostiary backup yet.",
        "page.attention_backup": "The last backup is {count} {count:one=day|other=days} old.",
        "page.attention_schema": (
            "The database has schema {newer}, and this release knows {known}: a newer release is using it."
        ),
        "page.attention_fault": "Fault",
        "page.attention_warning": "Warning",
        "page.attention_step": "First step",
        "page.remedy_secrets": "Give the right secret to its operator, or reset it.",
        "page.remedy_late": "Have the client repeat a refresh sooner when an answer is lost.",
        "page.remedy_log": "See the errors in the server's log.",
        "page.remedy_backup": "Run ostiary backup every day.",
        "page.remedy_schema": "Upgrade this server too.",
        "page.remedy_setting": "Change the setting {name} and restart the server.",
        "page.attention_finding": "{about}: {text}",
        "page.client_refusals": "Last refusals",
        "page.client_refusals_lead": (
            "The last {most} requests that were refused, the latest first. The log has them by trace id."
        ),
        "page.client_refusals_none": "None recorded.",
        "page.client_refusal_asked": "Asked for",
        "page.client_refusal_why": "Why",
        "page.online": "Running sessions",
        "page.online_lead": "Every session that is running now, of users and of clients.",
        "page.online_none": "No session is running",
        "page.online_end": "End",
        "page.online_end_will": (
            "{count:one=It ends|other={count} sessions end} at once: {count:one=its|other=their} tokens are "
            "revoked, and nothing else is touched."
        ),
        "page.online_end_selected": "End selected",
        "page.online_end_all": "End all sessions",
        "page.online_end_all_will": (
            "All users are signed out, you too: {count} running {count:one=session ends|other=sessions end} "
            "at once, and codes that were not redeemed are void. Users, clients and their secrets, and "
            "consents stay."
        ),
        "page.history": "History",
        "page.history_erased": (
            "The record of this session was erased some time after its end. This is what is kept of it."
        ),
        "page.audit": "Audit",
        "page.audit_lead": (
            "What happened, the latest first. “Done by” and “User” also find accounts that were deleted, and "
            "“Done by: command line” finds what an operator did on the server."
        ),
        "page.command_line": "Command line",
        "page.deleted_user": "{name} (deleted)",
        "page.by_token": "{name}, by the token {token} ({fingerprint})",
        "page.about_role": "Role {role}",
        "page.about_client": "Client {client}",
        "page.session_did": "What it did",
        "page.session_did_all": "All that it did",
        "page.audit_none": "Nothing has happened yet",
        "page.session_history": "The history of a session",
        "page.represents_no_user": "represents no user",
        # --- lists: what they are of, their columns, and what an import takes
        "column.name": "Name",
        "column.enabled": "Enabled",
        "column.builtIn": "Built in",
        "column.createdAt": "Created at",
        "column.updatedAt": "Updated at",
        "column.id": "Identifier",
        "column.permissions": "Permissions",
        "column.clientId": "Client",
        "column.userId": "User",
        "column.scope": "Scope",
        "column.ip": "Address",
        "column.userAgent": "User-Agent",
        "column.tokenName": "Name of the token",
        "column.kind": "Kind",
        "column.username": "User name",
        "column.sessionId": "Session",
        "column.clients.clientId": "Client ID",
        "column.clients.redirectUris": "Redirect URIs",
        "column.clients.grantTypes": "Grants",
        "column.clients.scopes": "Scopes",
        "column.clients.autoApproveScopes": "Scopes without consent",
        "column.clients.accessTokenTtl": "Access token lifetime, seconds",
        "column.clients.refreshTokenTtl": "Refresh token lifetime, seconds",
        "column.clients.lastUsedAt": "Last used at",
        "column.clients.secretLastUsedAt": "Secret last used at",
        "column.clients.oldSecretLastUsedAt": "Old secret last used at",
        "column.clients.secretExpiresOn": "Last day of the secret",
        "column.clients.oldSecretUntil": "Old secret works until",
        "column.clients.wrongSecrets": "Wrong secrets",
        "column.clients.wrongSecretLastAt": "Last wrong secret at",
        "note.clients.clientId": (
            "Required, and never changes. A row with the identifier of an existing client changes it."
        ),
        "note.clients.name": "Required. Shown to users.",
        "note.clients.redirectUris": (
            "One per line, each beginning with https:// (for local use http://localhost or http://127.0.0.1)."
        ),
        "note.clients.grantTypes": "Required. Any of: {choices}.",
        "note.clients.scopes": "Any of: {choices}.",
        "note.clients.autoApproveScopes": "Scopes that users are not asked about.",
        "note.clients.accessTokenTtl": "{least} to {most}; {default} if empty.",
        "note.clients.refreshTokenTtl": "{least} to {most}; {default} if empty.",
        "note.clients.secretExpiresOn": "As 2027-06-30, in UTC; no end if empty. A reset clears it.",
        "note.clients.enabled": (
            "For new clients; yes if empty. Existing clients are enabled and disabled elsewhere."
        ),
        "column.users.id": "sub",
        "column.users.name": "Name",
        "column.users.phone": "Telephone",
        "column.users.password": "Password",
        "column.users.passwordHash": "Password hash",
        "column.users.mustChangePassword": "Must change the password",
        "column.users.secondFactor": "Second factor",
        "column.users.roleIds": "Roles",
        "column.users.locale": "Language",
        "column.users.timezone": "Time zone",
        "column.users.avatarUrl": "Picture",
        "column.users.lastSignInAt": "Last sign-in",
        "note.users.username": "Required. A row with the name of an existing user changes that user.",
        "note.users.name": "Required.",
        "note.users.phone": (
            "5 to 20 digits, with or without a leading plus. Another number ends all sessions of the user."
        ),
        "note.users.password": (
            "8 to 256 characters, for new users only. Without one the user cannot sign in until it is reset."
        ),
        "note.users.passwordHash": (
            "From another system, for new users only, in place of a password: $argon2id$…, bcrypt ($2b$…, "
            "also as Spring stores it), $scrypt$ln=…, pbkdf2_sha256$… of Django, or $pbkdf2-sha256$… and "
            "$pbkdf2-sha512$… of passlib."
        ),
        "note.users.enabled": (
            "For new users; yes if empty. Existing users are enabled and disabled elsewhere."
        ),
        "note.users.mustChangePassword": (
            "For new users; if empty, no for those with a password hash and yes for all others."
        ),
        "note.users.roleIds": "Codes of roles, one per line.",
        "note.users.locale": "Any of: {locales}; may be empty.",
        "note.users.timezone": "For example Asia/Shanghai; may be empty.",
        "column.roles.code": "Code",
        "note.roles.code": (
            "Required, and never changes. A row with the code of an existing role changes that role."
        ),
        "note.roles.name": "Required.",
        "note.roles.permissions": "One per line, any of: {choices}.",
        "column.sessions.name": "Name",
        "column.sessions.signedInAt": "Signed in at",
        "column.sessions.lastSeenAt": "Last seen at",
        "column.sessions.expiresAt": "Expires at",
        "column.audit.id": "Number",
        "column.audit.at": "Time",
        "column.audit.why": "Reason",
        "column.audit.actorId": "Done by",
        "column.audit.actorName": "Name of who did it",
        "column.audit.actorSessionId": "Done by the session",
        "column.audit.actorToken": "Done by the token",
        "column.audit.actorFingerprint": "Fingerprint of the token",
        "column.audit.target": "About",
        "column.audit.roleId": "Role",
        "column.audit.traceId": "Trace id",
        "column.audit.earlierAt": "First used at",
        "column.audit.earlierUserAgent": "User-Agent of the first use",
        "column.audit.changes": "What changed",
        "column.tokens.expiresInDays": "Days",
        "column.refusals.permission": "Permission",
        "column.refusals.times": "Times",
        "change.value": "{field}: {value}",
        "change.values": "{field}: {before} → {after}",
        "change.between": ", ",
        "sheet.notes": "How to fill in",
        "sheet.column": "Column",
        "sheet.name": "Name in the interface",
        "sheet.note": "What it takes",
        "sheet.fault": "{place}: {fault}",
        "sheet.more": "{count} more",
        "sheet.place.row": "Row {row}",
        "sheet.place.cell": "Row {row}, {heading}",
        "sheet.place.column": "Column {letters}",
        "sheet.place.file": "The file",
        "kind.user": "Users (all)",
        "kind.login": "User, signed in here",
        "kind.oauth": "User, through a client",
        "kind.token": "User, by access token",
        "kind.machine": "Machine",
        # --- what a role can allow
        "permission.oauth.client.list": "See clients and their sessions",
        "permission.oauth.client.create": "Register clients",
        "permission.oauth.client.update": (
            "Change, enable and disable clients, reset their secrets, and end all their sessions"
        ),
        "permission.oauth.client.delete": "Delete clients",
        "permission.iam.user.list": "See users",
        "permission.iam.user.create": "Register users",
        "permission.iam.user.update": (
            "Change, enable and disable users, reset their passwords, end their sessions, and withdraw their "
            "consents"
        ),
        "permission.iam.user.delete": "Delete users",
        "permission.iam.role.list": "See roles and permissions",
        "permission.iam.role.create": "Register roles",
        "permission.iam.role.update": "Change roles",
        "permission.iam.role.delete": "Delete roles",
        "permission.monitor.online.list": "See running sessions",
        "permission.monitor.online.kill": "End running sessions",
        "permission.audit.read": "Read the audit trail",
        "permission.iam.user.credentials": "Reset passwords and factors, change numbers (unasked)",
        "permission.iam.role.assign": "Give roles and change what they allow (unasked)",
        # --- the audit trail; why, if a client is told less than an administrator
        "fact.code-issued": "Code issued",
        "fact.code-used": "Code redeemed",
        "fact.code-voided": "Code voided",
        "fact.session-started": "Session started",
        "fact.pair-rotated": "Tokens refreshed",
        "fact.pair-repeated": "Safe retry answered",
        "fact.session-ended": "Session ended",
        "fact.salt-erased": "Salt erased",
        "fact.personal-token-created": "Personal access token created",
        "fact.consent-remembered": "Consent given",
        "fact.consent-denied": "Consent declined",
        "fact.consent-withdrawn": "Consent withdrawn",
        "fact.sign-in-failed": "Sign-in failed",
        "fact.second-factor-asked": "Second factor asked for",
        "fact.second-factor-wrong": "Code of second factor wrong",
        "fact.second-factor-set": "Second factor set up",
        "fact.second-factor-removed": "Second factor removed",
        "fact.recovery-code-used": "Recovery code used",
        "fact.recovery-codes-renewed": "Recovery codes renewed",
        "fact.identity-proved": "Identity proved again",
        "fact.current-password-wrong": "Current password wrong",
        "fact.invitation-made": "User invited",
        "fact.password-set": "Password set",
        "fact.phone-set": "Telephone set",
        "fact.preferences-set": "Preferences set",
        "fact.text-code-sent": "Text code sent",
        "fact.text-code-wrong": "Text code wrong",
        "fact.user-sessions-ended": "User signed out everywhere",
        "fact.user-registered": "User registered",
        "fact.user-changed": "User changed",
        "fact.user-enabled": "User enabled",
        "fact.user-disabled": "User disabled",
        "fact.user-deleted": "User deleted",
        "fact.role-registered": "Role registered",
        "fact.role-changed": "Role changed",
        "fact.role-deleted": "Role deleted",
        "fact.client-registered": "Client registered",
        "fact.client-changed": "Client changed",
        "fact.client-enabled": "Client enabled",
        "fact.client-disabled": "Client disabled",
        "fact.client-deleted": "Client deleted",
        "fact.client-sessions-ended": "All sessions of the client ended",
        "fact.client-secret-reset": "Client secret reset",
        "fact.client-secret-added": "Client secret added, the old one kept",
        "fact.client-old-secret-ended": "Old client secret ended",
        "fact.user-unlocked": "User unlocked",
        "fact.warning-acknowledged": "Warning acknowledged",
        "fact.administrator-refused": "Administrator refused",
        "fact.refused": "Refused",
        "why.not_form_encoded": "The body was not a form in UTF-8.",
        "why.form_undecodable": "The form could not be decoded as UTF-8, or held a NUL character.",
        "why.field_nested": "A field was an array or object, not a plain value.",
        "why.field_repeated": "A field was sent more than once.",
        "why.two_authentications": "The client authenticated in two ways at once.",
        "why.authentication_scheme_unknown": (
            "The request had the client's secret and an authentication scheme other than Basic."
        ),
        "why.credentials_missing": "No client credentials were sent.",
        "why.credentials_malformed": "The client credentials could not be read.",
        "why.client_unknown": "No client has this identifier.",
        "why.client_built_in": "A built-in client has no secret to authenticate with.",
        "why.client_secret_wrong": "The client's secret was wrong.",
        "why.client_secret_expired": "The last day of the client's secret was over.",
        "why.grant_type_missing": "grant_type was missing.",
        "why.grant_type_unknown": "Unknown grant_type.",
        "why.grant_not_registered": "The client is not authorized to use this grant type.",
        "why.code_missing": "code was missing.",
        "why.redirect_uri_missing": "redirect_uri was missing.",
        "why.refresh_token_missing": "refresh_token was missing.",
        "why.token_missing": "token was missing.",
        "why.code_unknown": "No such authorization code was issued, or it was cleared away.",
        "why.code_of_another_client": "The authorization code was issued to another client.",
        "why.code_used": "The authorization code was already used.",
        "why.code_void": "The authorization code was void.",
        "why.code_expired": "The authorization code had expired.",
        "why.redirect_uri_different": "redirect_uri differed from the one in the authorization request.",
        "why.verifier_missing": "code_verifier was missing.",
        "why.verifier_wrong": "code_verifier did not match the code_challenge.",
        "why.redirect_uri_unregistered": "The redirect URI is no longer registered.",
        "why.scope_unregistered": "The scope is not registered for the client.",
        "why.token_unknown": "No such refresh token was issued, or its session was cleared away.",
        "why.token_of_another_client": "The refresh token belongs to another client.",
        "why.session_ended": "The session had ended before.",
        "why.maximum_reached": "The refresh token lifetime of the session was over.",
        "why.scope_too_wide": "The scope exceeds what was granted.",
        "why.no_scope_registered": "The client has no registered scope.",
        "why.client_disabled": "The client was disabled.",
        "why.client_deleted": "The client was deleted.",
        "why.replayed_after_grace": "A used refresh token came again, too late for a safe retry.",
        "why.replayed_by_another_user_agent": "A used refresh token came again, with a different User-Agent.",
        "why.replayed_two_generations_late": (
            "A refresh token that was used before the last refresh came again."
        ),
        # --- text messages
        "message.password-changed": (
            "The password of your account {username} was changed. If that was not you, ask an administrator "
            "for help at once."
        ),
        "message.phone-changed": (
            "Your account {username} no longer has this telephone number. If that was not you, ask an "
            "administrator for help at once."
        ),
        "message.second-factor-set": (
            "A second factor was set up for your account {username}. If that was "
            "not you, ask an administrator for help at once."
        ),
        "message.second-factor-removed": (
            "The second factor of your account {username} was removed. If that was "
            "not you, ask an administrator for help at once."
        ),
        "message.recovery-codes-renewed": (
            "New recovery codes were made for your account {username}. If that was "
            "not you, ask an administrator for help at once."
        ),
        "message.recovery-code-used": (
            "A recovery code of your account {username} was used. If that was "
            "not you, ask an administrator for help at once."
        ),
        "message.personal-token-created": (
            "An access token of your account {username} was made. If that was "
            "not you, ask an administrator for help at once."
        ),
        "message.change-phone": (
            "{code} is your code to use this number for your account. It can be used once, until {until} ("
            "{zone}). If you did not ask for it, ignore this message and do not share the code."
        ),
        "message.reset-password": (
            "{code} is your code to reset your password. It can be used once, until {until} ({zone}). If you "
            "did not ask for it, ignore this message and do not share the code."
        ),
        "message.invitation": (
            "You have an account: {username}. Choose its password by this link, once, until {until} "
            "({zone}). Do not share it. {link}"
        ),
        # --- the command line
        "command.listed": "{first} to {last} of {total}",
        "command.secret": "Secret, shown this once",
        "command.not_shown": "done, but the new secret could not be printed ({reason}). Create another with",
        "command.password": "Password, shown this once",
        "command.link": "Link, shown this once",
        "command.client.delete": (
            "Delete {names} for good? All their sessions end, and no identifier is ever given out again."
        ),
        "command.user.delete": "Delete {names} for good? All their sessions end.",
        "command.more_names": "{names} and {count} more",
        "command.end_everything": "End every session of every user and client?",
        "command.deleted": "Deleted",
        "command.ended": "Ended",
        "command.apply.done": "Done.",
        "command.apply.planned": "Nothing was done.",
        "command.apply.nothing": "Everything is as declared.",
        "command.apply.delete": (
            "Delete for good: {paths}? Sessions of these clients end, and no identifier is given out again."
        ),
        "command.apply.disabled": "Not in the file, and disabled: {paths}",
        "command.apply.deleted": "Not in the file, and deleted: {paths}",
        "command.apply.undeclared": "Not in the file, and left as they are: {paths}",
        "command.apply.secret": "another one",
        "command.import.created": "Registered",
        "command.import.updated": "Changed",
        "command.import.unchanged": "Left as they were",
        "command.import.hashes_left": "Password hashes left as they were",
        "command.import.would": "To register: {created}. To change: {updated}. Unchanged: {unchanged}.",
        "command.import.would.created": "Row {row}: registers {name}",
        "command.import.would.updated": "Row {row}: changes {name}",
        "command.import.would.unchanged": "Row {row}: leaves {name} unchanged",
        "command.import.upsert": "--mode upsert changes the users that exist already.",
        "command.import.preparing": "Preparing",
        "command.backup.file": "file",
        "command.backup.bytes": "bytes",
        "command.compact.gained": "bytes given back",
        "command.restore.ended": "clients whose sessions ended",
        "command.sweep.salts": "salts",
        "command.sweep.codes": "codes never redeemed",
        "command.sweep.usedCodes": "used codes",
        "command.sweep.endedSessions": "ended sessions",
        "command.sweep.sessions": "sessions past their maximum",
        "command.sweep.textCodes": "codes in text messages",
        "command.sweep.invitations": "invitations",
        "command.sweep.tokens": "tokens",
        "command.sweep.auditEntries": "audit entries",
        "command.sweep.countedEntries": "audit entries counted for the overview",
        # --- ostiary check
        "check.settings.fine": "every value is allowed",
        "check.settings.no_public_url": "is not set: URLs and cookies are derived from each request",
        "check.settings.plain_public_url": "is http: passwords and tokens cross the network in the clear",
        "check.settings.no_proxy_before_tls": (
            "is not set, and a proxy in front terminates TLS: all callers share its address and rate limits"
        ),
        "check.settings.no_proxy_before_socket": (
            "is not set, and requests over BIND's socket have no address: all callers share one rate limit"
        ),
        "check.settings.proxy_too_wide": "{network} includes untrusted hosts: callers can forge any address",
        "check.settings.rate_limits": "the limits are not the specification's",
        "check.settings.guess_limits": "more or fewer wrong passwords are free than the specification's",
        "check.settings.no_gateway": "is not set: text messages go to {path}",
        "check.settings.gateway_unreachable": "{reason}: no text message reaches the gateway",
        "check.settings.plain_gateway": "is http: recovery codes are sent in the clear",
        "check.settings.trail_for_ever": "the audit trail is kept for ever",
        "check.settings.trail_for_days": "the audit trail is kept for {count} {count:one=day|other=days}",
        "check.settings.password_set": "is still set, but ignored once an administrator exists",
        "check.files.open": "{path} can be read by others (mode {mode}): chmod go= {path}",
        "check.files.secret_open": "{path} can be read by every user of this machine: chmod o= {path}",
        "check.files.unwritable": "{path} cannot be written by the user who runs this: it belongs to {owner}",
        "check.files.owner": "{path} belongs to {owner}, but its folder and the server to {whose}",
        "check.files.no_temporary": (
            "{path} cannot be written by the user who runs this: large files cannot be received"
        ),
        "check.files.fine": "no other user of this machine can read them",
        "check.interpreter.slow": (
            "at {path} was built without --enable-optimizations: every request takes more processor time"
        ),
        "check.database.fine": "can be written, and has the schema of this release",
        "check.second_factors.other_key": (
            "{count} {count:one=user|other=users} set up a second factor with another key: their codes "
            "cannot be checked here"
        ),
        "check.database.log": (
            "the log has {size} MiB, and grows until the program that reads the file has ended"
        ),
        "check.database.fault": "cannot be written: {error} at {place}",
        "check.clock.apart": "differs from the database's by {seconds} s; the database's is used",
        "check.clock.set_back": (
            "is {count} {count:one=second|other=seconds} behind the newest record: it was set back"
        ),
        "check.clock.fine": "agrees with the newest records",
        "check.client.secret_expired": "its secret ended with {date}: reset it",
        "check.client.secret_expires": "its secret ends with {date}: reset it before, with an overlap",
        "check.client.no_scope": (
            "has no scope: nothing is granted to it, and every authorization request for it is refused"
        ),
        "check.client.doubtful_redirect": (
            "redirects to {address}, which can no longer be registered: its host cannot be looked up, or its "
            "query has a parameter that the answer adds once more"
        ),
        "check.client.local_redirect": (
            "redirects to {address}: any program on the user's machine may listen there (RFC 9700 §4.1)"
        ),
        "check.client.long_access": (
            "access tokens live {seconds} s, and so does a stolen one (RFC 9700 §2.2)"
        ),
        "check.client.long_refresh": (
            "the refresh token lifetime is {count} {count:one=day|other=days} (RFC 9700 §4.14.2)"
        ),
        "check.client.no_consent": "users are not asked about {scopes}: only for systems of your own",
        "check.replication.unseen": "could not be read: {error} at {place}",
        "check.replication.asynchronous": (
            "is asynchronous, with {count} {count:one=standby|other=standbys}: the last changes are lost "
            "with the primary (synchronous_standby_names; Patroni: synchronous_mode)"
        ),
        "check.replication.fine": "a commit waits until a standby has it",
        "check.standbys.unseen": "cannot be read: GRANT pg_monitor TO the role of DATABASE_URL",
        "check.standbys.behind": "{bytes} bytes and {seconds} s behind the primary",
        "check.archive.fails": (
            "fails, last with {segment}: the present cannot be restored, and the disk fills up"
        ),
        "check.pooler.shares": "lends a connection for a transaction at a time: statements are not prepared",
        "check.pooler.tracks": (
            "lends a connection for a transaction at a time, and DATABASE_PREPARED_STATEMENTS is on: it has "
            "to keep track of prepared statements (PgBouncer 1.21, max_prepared_statements)"
        ),
        "live.no_public_url": "PUBLIC_URL is not set, so there is no server to ask",
        "live.no_answer": "{server} does not answer: {error}",
        "live.client_unknown": (
            "{server} does not know a client that was registered a moment ago: it has another database"
        ),
        "live.path_lost": (
            "{server} answers 404: the proxy must pass the path on unchanged "
            "(nginx: proxy_pass without a path; Caddy: handle, not handle_path)"
        ),
        "live.refused": "{server} answers a request for a token with {status}",
        "live.session_unknown": "{server} gave a token that this database does not have",
        "live.asked_from_proxy": (
            "asked from {own}, which TRUST_PROXY trusts: ask from a machine that is not a proxy"
        ),
        "live.made_up": (
            "the server believed a forged X-Forwarded-For ({seen}): TRUST_PROXY covers more than the proxy"
        ),
        "live.fine": "the server saw the right address, {seen}",
        "live.tls": "{version}; the certificate is good until {until}",
        "live.tls_ends_soon": "{version}; the certificate ends {until}: renew it",
        "live.proxy_silent": (
            "the server saw {seen}, a trusted proxy, which does not name the caller (X-Forwarded-For)"
        ),
        "live.no_address": (
            "has no address, as it came over a socket in the file system: set TRUST_PROXY, as 127.0.0.1"
        ),
        "live.proxy_distrusted": "the server saw {seen}, which is the proxy's: add it to TRUST_PROXY",
        "live.other_address": (
            "the server saw {seen}, and this machine asked from {own}: if no network in between changes "
            "addresses, {seen} is the proxy's: add it to TRUST_PROXY"
        ),
        # --- how a session ended
        "ending.revoked_by_client": "The client revoked the session",
        "ending.code_replayed": "The authorization code that the session came from was presented again",
        "ending.signed_out": "The user signed out",
        "ending.signed_out_elsewhere": "The user signed out everywhere else",
        "ending.personal_token_ended": "The user ended the access token",
        "ending.session_forced_out": "{actor} ended this one session",
        "ending.replayed_after_grace": (
            "A refresh token that had been used came again {delay} after its first use, past the {grace} s "
            "in which a safe retry is answered"
        ),
        "ending.replayed_by_another_user_agent": (
            "A refresh token that had been used came again {delay} after its first use, with a different "
            "User-Agent"
        ),
        "ending.replayed_two_generations_late": (
            "A refresh token that was used before the last rotation came again, {delay} after that rotation"
        ),
        "ending.consent_withdrawn": "{user} withdrew what the client was allowed",
        "ending.password_changed": "The user changed the password",
        "ending.phone_changed": "{user} changed the telephone number",
        "ending.password_reset_by_administrator": "{actor} reset the user's password",
        "ending.invitation_accepted": "The user's password was set by an invitation",
        "ending.password_reset_by_text_message": "The user's password was reset by text message",
        "ending.second_factor_set_up": "The user set up a second factor",
        "ending.second_factor_removed": "The user removed the second factor",
        "ending.second_factor_reset_by_administrator": "{actor} reset the user's second factor",
        "ending.current_password_wrong_repeatedly": "The current password was entered wrongly too often",
        "ending.user_disabled": "{actor} disabled the user",
        "ending.user_deleted": "{actor} deleted the user",
        "ending.user_forced_out": "{actor} signed the user out everywhere",
        "ending.client_disabled": "{actor} disabled the client",
        "ending.client_deleted": "{actor} deleted the client",
        "ending.client_forced_out": "{actor} ended all sessions of the client",
        "ending.everybody_forced_out": "{actor} ended all sessions",
        # --- the history of a session
        "history.sentence": "{text}.",
        "history.issued.login": "The user {user} signed in",
        "history.issued.authorization_code": (
            "The client {client} redeemed an authorization code of the user {user}, for {scopes}"
        ),
        "history.issued.client_credentials": "The client {client} took a token for itself, for {scopes}",
        "history.issued.personal_token": "The user {user} created an access token, for {scopes}",
        "history.issued_unknown": (
            "The client {client} began a session of the kind {kind}, which only a later release knows, "
            "for {scopes}"
        ),
        "history.rotated": "The pair of tokens was rotated",
        "history.rotated_and_refused": (
            "The pair of tokens was rotated, and the client refused all the same: it asked for a scope "
            "beyond the grant"
        ),
        "history.retried": (
            "A safe retry: the spent refresh token came again {delay} after its first use, and got the same "
            "pair"
        ),
        "history.noted": "On record: {fact}",
        "history.maximum_reached": (
            "Its refresh token lifetime of {duration} was over, which refreshing does not extend"
        ),
        "history.running": "It is running until {end} at the latest; its access token is good until {access}",
        "history.running_to_be_refreshed": (
            "It is running until {end} at the latest; its access token expired at {access}"
        ),
        "history.ended": "It ended",
        "history.which_ended": "{reason}, which ended the session",
        "history.ended_at_unknown_time": "{ending}, at a time that is not on record",
        "history.ended_by_replay": (
            "{ending}. {first}: {earlier_at}, {earlier_agent}. Again: {at}, {agent}{source}"
        ),
        "history.first_use": "First use",
        "history.last_rotation": "Last rotation",
        "history.by_administrator": "The administrator {name}",
        "history.by_an_administrator": "An administrator",
        "history.by_token": "The administrator {name}, by the access token {token},",
        "history.by_operator": "The operator, on the command line,",
        "history.by_named_operator": "The operator {name}, on the command line,",
        "history.by_user": "The user",
        "history.request": "{source}, {agent}",
        "history.source": ", from {source}",
        "history.user_agent": "User-Agent {user_agent}",
        "history.named_agent": "{name} ({agent})",
        "agent.on_system": "{browser} on {system}",
        "history.no_user_agent": "without a User-Agent",
        "history.time_unknown": "(unknown)",
        "history.delay_unknown": "some time",
        "history.no_near_misses": "No safe retry was needed.",
        "history.near_misses": (
            "{count:one=A safe retry saved the client once; it came {latest} after the first use|other=Safe "
            "retries that saved the client: {count}; the latest came {latest} after the first use, the "
            "slowest {longest}}."
        ),
        "duration.days": "{count} d",
        "duration.hours": "{count} h",
        "duration.minutes": "{count} min",
        "duration.seconds": "{count} s",
        "duration.exact_seconds": "{seconds} s",
    }
)
