//! A notification on the desktop: over D-Bus on Linux and its kin, and in the
//! system's own way elsewhere.

use std::time::Duration;

use notify_rust::Notification;

use super::Notice;

/// A desktop answers in milliseconds; a bus that hangs never does.
const TIMEOUT: Duration = Duration::from_millis(1500);

/// The same for asking whether anybody is there.
const LOOK: Duration = Duration::from_millis(500);

/// What programs of this name look like on the desktop.
const NAME: &str = "Bathysphere";

/// Shows it, or says why not.
pub async fn show(notice: &Notice) -> Result<(), String> {
    let (title, message) = (notice.title.clone(), notice.message.clone());
    let failed = notice.status == "failed";
    within(TIMEOUT, move || {
        let body = if reads_markup() { escaped(&message) } else { message };
        let mut notification = Notification::new();
        notification.appname(NAME).summary(&title).body(&body);
        dress(&mut notification, failed);
        notification.show().map(drop).map_err(|error| error.to_string())
    })
    .await
}

#[cfg(all(unix, not(target_os = "macos")))]
fn dress(notification: &mut Notification, failed: bool) {
    use notify_rust::Hint;
    let icon = if failed { "dialog-warning" } else { "dialog-information" };
    notification.icon(icon).hint(Hint::Category("transfer.complete".to_owned()));
}

#[cfg(not(all(unix, not(target_os = "macos"))))]
fn dress(_: &mut Notification, _: bool) {}

/// The name of the notification service that answers, or why none does.
#[cfg(all(unix, not(target_os = "macos")))]
pub async fn service() -> Result<String, String> {
    if !bus_is_there() {
        return Err("there is no session bus here".to_owned());
    }
    within(LOOK, || {
        let server = notify_rust::get_server_information().map_err(|error| error.to_string())?;
        Ok(format!("{} {}", server.name, server.version))
    })
    .await
}

/// The system has one of its own.
#[cfg(not(all(unix, not(target_os = "macos"))))]
pub async fn service() -> Result<String, String> {
    Ok("the system".to_owned())
}

/// Whether a session bus is named, or lies where one lies by custom.
#[cfg(all(unix, not(target_os = "macos")))]
fn bus_is_there() -> bool {
    let set = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
    set("DBUS_SESSION_BUS_ADDRESS").is_some()
        || set("XDG_RUNTIME_DIR")
            .is_some_and(|runtime| std::path::Path::new(&runtime).join("bus").exists())
}

/// Whether the desktop reads `<b>` and links in a message. One that does not shows
/// what was escaped as it stands; one that does not say so is taken to read them.
#[cfg(all(unix, not(target_os = "macos")))]
fn reads_markup() -> bool {
    notify_rust::get_capabilities()
        .map_or(true, |capabilities| capabilities.iter().any(|one| one == "body-markup"))
}

#[cfg(not(all(unix, not(target_os = "macos"))))]
fn reads_markup() -> bool {
    false
}

/// So that a question can neither be a link nor an image.
fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

/// On a thread for blocking work, which is left to itself when the time is over.
async fn within<T: Send + 'static>(
    time: Duration,
    work: impl FnOnce() -> Result<T, String> + Send + 'static,
) -> Result<T, String> {
    match tokio::time::timeout(time, tokio::task::spawn_blocking(work)).await {
        Ok(Ok(done)) => done,
        Ok(Err(error)) => Err(error.to_string()),
        Err(_) => Err(format!("it did not answer within {} ms", time.as_millis())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markup_is_shown_and_not_obeyed() {
        assert_eq!(
            escaped("<b>R&D</b> <a href=\"x\">here</a>"),
            "&lt;b&gt;R&amp;D&lt;/b&gt; &lt;a href=\"x\"&gt;here&lt;/a&gt;"
        );
    }

    #[tokio::test]
    async fn a_desktop_that_hangs_is_left() {
        let (sender, receiver) = std::sync::mpsc::channel::<()>();
        let waited = within(Duration::from_millis(5), move || {
            let _ = receiver.recv();
            Ok(())
        })
        .await;
        assert_eq!(waited, Err("it did not answer within 5 ms".to_owned()));
        drop(sender);
    }
}
